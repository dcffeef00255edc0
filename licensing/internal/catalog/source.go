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
	fewest := commonTerm
	for i, term := range f.terms {
		if many, err := f.firstOf(ctx, f.pairs.largest(), term); err != nil || len(many) == commonTerm {
			if err != nil {
				return 0, err
			}
			continue // however many there are in the other runs
		}
		first, err := f.firstOf(ctx, f.pairs, term)
		if err != nil {
			return 0, err
		}
		if len(first) < fewest {
			rarest, fewest = i, len(first)
		}
	}
	if fewest < commonTerm {
		return rarest, nil
	}
	most := -1
	for i, term := range f.terms[:min(len(f.terms), maxSampled)] {
		first, err := f.firstOf(ctx, f.pairs, term)
		if err != nil {
			return 0, err
		}
		indexed, err := f.indexed(ctx, first)
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

// firstOf returns the first candidates of a term, up to commonTerm.
func (f *finder) firstOf(ctx context.Context, pairs pairReader, term string) (first []candidate, err error) {
	for _, q := range f.sources(term) {
		candidates, err := f.next(ctx, pairs.list(q), commonTerm-len(first))
		if first = append(first, candidates...); err != nil || len(first) == commonTerm {
			return first, err
		}
	}
	return first, nil
}
