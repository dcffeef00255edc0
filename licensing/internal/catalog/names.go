package catalog

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-d8a106b4/licensekit/store"
)

// The names of customers and products are found by words too. The entries that
// find them are written when the first license with a name appears, and deleted
// with the last one. Key is what the names
// are of, a slash, a word, a space and the name.

// nameKeys returns the keys of the entries that find the name of a count.
func nameKeys(count string) (keys []string) {
	by, name, _ := strings.Cut(count, "/")
	if by != Customer && by != Product {
		return nil
	}
	for _, word := range words(name) {
		keys = append(keys, by+"/"+word+" "+name)
	}
	return keys
}

// words returns the terms that find a text.
func words(text string) []string {
	var t termSet
	t.addText(text, maxTerms)
	return t.list
}

// A nameFinder finds names by words.
type nameFinder struct {
	Snapshot
	by    string   // Customer or Product
	terms []string // of the search
}

// Names returns up to limit counts by customer or product whose names have,
// for each word of the text, a word that begins with it. The order is that of the
// words that begin with the rarest word of the text; each name appears once.
// Next continues after the page, which may be short.
func (s Snapshot) Names(ctx context.Context, by, text, after string, limit int) (list []Count, next string, err error) {
	f := nameFinder{s, by, searchTerms(text)}
	if len(f.terms) == 0 {
		return nil, "", nil
	}
	number, place, _ := strings.Cut(after, " ")
	rarest, err := strconv.Atoi(number)
	if err != nil || rarest < 0 || rarest >= len(f.terms) {
		place = ""
		if rarest, err = f.findRarest(ctx); err != nil {
			return nil, "", err
		}
	}
	q := f.query(f.terms[rarest])
	q.After.ID = place
	for examined := 0; examined < maxCandidates; {
		q.Limit = stepSize(limit, examined)
		entries, err := s.r.Entries(ctx, q)
		if err != nil {
			return nil, "", err
		}
		examined += len(entries)
		var keys, counted []string // of the entries that match, and of their counts
		for _, e := range entries {
			q.After.ID = e.Key
			if f.matches(e.Key, f.terms[rarest]) {
				keys, counted = append(keys, e.Key), append(counted, by+"/"+nameOf(e.Key))
			}
		}
		counts, err := countsOf(ctx, s.r, s.g.counts(), counted)
		if err != nil {
			return nil, "", err
		}
		for i, key := range keys {
			n := counts[counted[i]]
			if n == 0 {
				continue
			}
			if len(list) == limit {
				return list, next, nil
			}
			list, next = append(list, Count{nameOf(key), n}), strconv.Itoa(rarest)+" "+key
		}
		if len(entries) < q.Limit {
			return list, "", nil
		}
	}
	return list, strconv.Itoa(rarest) + " " + q.After.ID, nil
}

// nameOf returns the name that an entry finds.
func nameOf(key string) string {
	_, name, _ := strings.Cut(key, " ")
	return name
}

// query selects the entries with a word that begins with a term.
func (f *nameFinder) query(term string) store.EntryQuery {
	prefix := f.by + "/" + term
	return store.EntryQuery{Kind: f.g.names(), From: prefix, Before: store.PrefixEnd(prefix)}
}

// findRarest returns the term whose entries are to be examined: that of whose
// first entries the fewest do not match all terms.
func (f *nameFinder) findRarest(ctx context.Context) (rarest int, err error) {
	fewest := commonTerm + 1
	for i := range min(len(f.terms), maxSampled) {
		q := f.query(f.terms[i])
		q.Limit = commonTerm
		entries, err := f.r.Entries(ctx, q)
		if err != nil {
			return 0, err
		}
		missed := 0
		for _, e := range entries {
			if !f.hasAll(words(nameOf(e.Key))) {
				missed++
			}
		}
		if missed < fewest {
			rarest, fewest = i, missed
		}
	}
	return rarest, nil
}

// matches reports whether an entry has a name with all terms, and is the first of
// the entries that find this name by a term.
func (f *nameFinder) matches(key, term string) bool {
	name := nameOf(key)
	own := words(name)
	return f.hasAll(own) && !slices.ContainsFunc(own, func(word string) bool {
		return strings.HasPrefix(word, term) && f.by+"/"+word+" "+name < key
	})
}

// hasAll reports whether the words of a name begin with all terms.
func (f *nameFinder) hasAll(words []string) bool {
	return !slices.ContainsFunc(f.terms, func(term string) bool {
		return !slices.ContainsFunc(words, func(word string) bool { return strings.HasPrefix(word, term) })
	})
}

// countsOf returns the stored counts with these keys.
func countsOf(ctx context.Context, r store.Reader, kind string, keys []string) (map[string]int64, error) {
	stored := make(map[string]int64, len(keys))
	for some := range slices.Chunk(keys, store.MaxLimit) {
		entries, err := r.Entries(ctx, store.EntryQuery{Kind: kind, Keys: some})
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if stored[e.Key], err = countOf(e); err != nil {
				return nil, err
			}
		}
	}
	return stored, nil
}
