package catalog

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-d8a106b4/licensekit/store"
)

// The names of customers and products are found by words too. The entries that
// find them are of the index for counts: it writes them when the first license
// with a name appears, and deletes them with the last one. Key is what the names
// are of, a slash, a word, a space and the name.

// names returns the kind of the entries that find names.
func (g *generation) names() string { return g.Kind + ".name" }

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

// FindNames returns up to limit counts by customer or product whose names have,
// for each word of the text, a word that begins with it. The order is that of the
// words that begin with the rarest word of the text; each name appears once.
// Next continues after the page, which may be short. The kind is that of
// [Index.Answer] of Counts.
func FindNames(ctx context.Context, r store.Reader, kind, by, text, after string, limit int) (list []Count, next string, err error) {
	search := searchTerms(text)
	if len(search) == 0 {
		return nil, "", nil
	}
	hasAll := func(terms []string) bool {
		return !slices.ContainsFunc(search, func(s string) bool { return len(nameMatches(terms, s)) == 0 })
	}
	g := generation{Kind: kind}
	number, place, _ := strings.Cut(after, " ")
	rarest, err := strconv.Atoi(number)
	if err != nil || rarest < 0 || rarest >= len(search) {
		rarest, place = 0, ""
		most := -1
		for i := range min(len(search), maxSampled) { // by a sample, like findRarest
			prefix := by + "/" + search[i]
			entries, err := r.Entries(ctx, store.EntryQuery{Kind: g.names(), From: prefix, Before: store.PrefixEnd(prefix), Limit: commonTerm})
			if err != nil {
				return nil, "", err
			}
			n := commonTerm - len(entries) // as if the rest would match
			for _, e := range entries {
				if _, name, _ := strings.Cut(e.Key, " "); hasAll(words(name)) {
					n++
				}
			}
			if n > most {
				rarest, most = i, n
			}
		}
	}
	word := search[rarest]
	prefix := by + "/" + word
	q := store.EntryQuery{Kind: g.names(), From: prefix, Before: store.PrefixEnd(prefix), After: store.Position{ID: place}}
	for examined := 0; examined < maxCandidates; {
		q.Limit = min(max(limit+1, examined), chunk, maxCandidates-examined)
		entries, err := r.Entries(ctx, q)
		if err != nil {
			return nil, "", err
		}
		examined += len(entries)
		var keys []string
		position := map[string]string{} // of the entry that finds a name
		for _, e := range entries {
			q.After.ID = e.Key
			_, name, _ := strings.Cut(e.Key, " ")
			terms := words(name)
			if first := slices.MinFunc(append(nameMatches(terms, word), "\U0010FFFF"), strings.Compare); by+"/"+first+" "+name != e.Key {
				continue // found by another word already
			}
			if hasAll(terms) {
				keys = append(keys, by+"/"+name)
				position[by+"/"+name] = e.Key
			}
		}
		counts, err := countsOf(ctx, r, kind, keys)
		if err != nil {
			return nil, "", err
		}
		for _, key := range keys {
			if counts[key] == 0 {
				continue
			}
			if len(list) == limit {
				return list, strconv.Itoa(rarest) + " " + next, nil
			}
			list, next = append(list, Count{strings.TrimPrefix(key, by+"/"), counts[key]}), position[key]
		}
		if len(entries) < q.Limit {
			return list, "", nil
		}
	}
	return list, strconv.Itoa(rarest) + " " + q.After.ID, nil
}

// nameMatches returns the terms that begin with a search term.
func nameMatches(terms []string, search string) (list []string) {
	for _, term := range terms {
		if strings.HasPrefix(term, search) {
			list = append(list, term)
		}
	}
	return list
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
