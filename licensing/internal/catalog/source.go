package catalog

import (
	"context"
	"slices"

	"github.com/seed-d8a106b4/licensekit/store"
)

// sources returns the ranges of the pairs that match a term of the search, in
// the order of the list.
func (f *finder) sources(search string) (list []store.EntryQuery) {
	prefixes := []string{search}
	if term := keyGroup(search); term != "" && f.Keys {
		prefixes = append(prefixes, term+" ")
	}
	slices.Sort(prefixes)
	if f.Where.Descending {
		slices.Reverse(prefixes)
	}
	for _, p := range prefixes {
		list = append(list, store.EntryQuery{From: p, Before: store.PrefixEnd(p), Descending: f.Where.Descending})
	}
	return list
}

// next returns the next candidates of a range, up to n.
func (f *finder) next(ctx context.Context, l *pairList, n int) ([]candidate, error) {
	pairs, err := l.next(ctx, n)
	candidates := make([]candidate, len(pairs))
	for i, pair := range pairs {
		_, id := splitPair(pair)
		candidates[i] = candidate{pair, id}
	}
	return candidates, err
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
		for _, q := range f.sources(term) {
			if len(first[i]) == commonTerm {
				break
			}
			candidates, err := f.next(ctx, f.pairs.list(q), commonTerm-len(first[i]))
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
