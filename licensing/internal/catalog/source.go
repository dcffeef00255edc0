package catalog

import (
	"context"
	"slices"
	"strings"

	"github.com/seed-d8a106b4/licensekit/store"
)

// A source is a range of the list of pairs.
type source struct {
	q     store.EntryQuery // entries
	pairs []string         // of blocks, in the order of the list
}

// sources returns the ranges of the pairs that match a term of the search, in
// the order of the list.
func (f *finder) sources(ctx context.Context, search string) (list []source, err error) {
	var pairs []string
	prefixes := []string{search}
	group := ""
	if term := keyGroup(search); term != "" && f.Keys {
		group = term + " "
		prefixes = append(prefixes, group)
		if pairs, err = groupPairs(ctx, f.r, f.g.Kind, term); err != nil {
			return nil, err
		}
	}
	slices.Sort(prefixes)
	if f.Where.Descending {
		slices.Reverse(prefixes)
		slices.Reverse(pairs)
	}
	for _, p := range prefixes {
		s := source{q: store.EntryQuery{Kind: f.g.Kind, From: p, Before: store.PrefixEnd(p), Descending: f.Where.Descending}}
		if p == group {
			s.pairs = pairs
		}
		list = append(list, s)
	}
	return list, nil
}

// next returns the next candidates of a source, up to n.
func (f *finder) next(ctx context.Context, s *source, n int) ([]candidate, error) {
	s.q.Limit = n
	entries, err := f.r.Entries(ctx, s.q)
	if err != nil {
		return nil, err
	}
	keys := make([]string, 0, n)
	for _, e := range entries {
		keys = append(keys, e.Key)
	}
	if len(s.pairs) > 0 {
		for _, pair := range s.pairs {
			if s.q.After.ID == "" || f.compare(pair, s.q.After.ID) > 0 {
				keys = append(keys, pair)
			}
		}
		slices.SortFunc(keys, f.compare)
		keys = keys[:min(len(keys), n)]
	}
	candidates := make([]candidate, len(keys))
	for i, key := range keys {
		_, id := splitPair(key)
		candidates[i] = candidate{key, id}
		s.q.After.ID = key
	}
	return candidates, nil
}

// compare compares keys by the order of the list.
func (f *finder) compare(a, b string) int {
	if f.Where.Descending {
		a, b = b, a
	}
	return strings.Compare(a, b)
}

// findRarest returns the term of the search whose candidates are to be examined.
// It is the term with the fewest candidates or, if all have many, the term of
// whose first candidates the most match all terms.
func (f *finder) findRarest(ctx context.Context) (rarest int, err error) {
	if len(f.terms) == 1 {
		return 0, nil
	}
	first := make([][]candidate, len(f.terms))
	for i, term := range f.terms {
		sources, err := f.sources(ctx, term)
		if err != nil {
			return 0, err
		}
		for _, s := range sources {
			if len(first[i]) == commonTerm {
				break
			}
			candidates, err := f.next(ctx, &s, commonTerm-len(first[i]))
			if err != nil {
				return 0, err
			}
			first[i] = append(first[i], candidates...)
		}
		if len(first[i]) < len(first[rarest]) {
			rarest = i
		}
	}
	if len(first[rarest]) < commonTerm {
		return rarest, nil
	}
	most := -1
	for i := range min(len(first), maxSampled) {
		indexed, err := f.indexed(ctx, first[i])
		if err != nil {
			return 0, err
		}
		n := 0
		for _, terms := range indexed {
			if f.hasAll(terms) {
				n++
			}
		}
		if n > most {
			rarest, most = i, n
		}
	}
	return rarest, nil
}
