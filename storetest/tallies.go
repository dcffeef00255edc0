package storetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/seed-d8a106b4/licensekit/store"
)

func tallyCases() []testCase {
	return slices.Concat(tallyListing(false).cases(), tallyListing(true).cases(), []testCase{
		{"Tallies", "Sums", 22, tallySums},
		{"Tallies", "SumsInOneUpdate", 22, tallySumsInOneUpdate},
		{"Tallies", "Large", 22, tallyLarge},
		{"Tallies", "Bytes", 7, tallyBytes},
		{"Tallies", "Filters", 11, tallyFilters},
		{"Tallies", "KindsAreApart", 11, tallyKinds},
		limit("Tallies", manyTallies, countTallies),
	})
}

// standings returns the tallies of a kind.
func (b *bench) standings(r store.Reader, kind string) map[string]int64 {
	rows, err := r.Tallies(b.ctx, store.TallyQuery{Kind: kind, Limit: many})
	b.equal(err, nil, "Tallies")
	standings := map[string]int64{}
	for _, t := range rows {
		standings[t.Name] = t.N
	}
	return standings
}

// A posting is one call of AddTally.
type posting struct {
	name  string
	delta int64
}

// postings go up, down, through zero and back to it.
var postings = []posting{
	{"up", 1}, {"up", 1}, {"up", 40}, {"down", -1}, {"down", -2}, {"back", 3}, {"back", -3},
	{"through", 2}, {"through", -5}, {"through", 7}, {"again", 1}, {"again", -1}, {"again", 6},
	{"below and back", -4}, {"below and back", 4}, {"nothing", 0}, {"once", 9}, {"once", 0}, {"down", -1},
}

// tallySums looks after each posting, each in an Update of its own.
func tallySums(b *bench) {
	want := map[string]int64{}
	for i, p := range postings {
		b.add(store.Tally{Kind: "kind", Name: p.name, N: p.delta})
		want[p.name] += p.delta
		if want[p.name] == 0 {
			delete(want, p.name)
		}
		b.readers(func(how string, r store.Reader) {
			b.equal(b.standings(r, "kind"), want, "tallies %s, after %d to %s, posting %d", how, p.delta, p.name, i)
		})
	}
}

func tallySumsInOneUpdate(b *bench) {
	b.update(func(tx store.Tx) error {
		for _, p := range postings {
			if err := tx.AddTally(b.ctx, "kind", p.name, p.delta); err != nil {
				return err
			}
		}
		return nil
	})
	want := map[string]int64{"up": 42, "down": -4, "through": 4, "again": 6, "once": 9}
	b.equal(b.standings(b, "kind"), want, "tallies")
}

func tallyLarge(b *bench) {
	for range 3 {
		b.add(store.Tally{Kind: "kind", Name: "up", N: 1<<60 + 1}, store.Tally{Kind: "kind", Name: "down", N: -1<<60 - 1})
	}
	b.equal(b.standings(b, "kind"), map[string]int64{"up": 3<<60 + 3, "down": -3<<60 - 3}, "tallies")
}

// tallyBytes has awkward kinds and names.
func tallyBytes(b *bench) {
	var all []any
	for i, s := range awkward {
		all = append(all, store.Tally{Kind: "kind", Name: s, N: int64(i + 1)},
			store.Tally{Kind: s, Name: "name", N: int64(i + 1)}, store.Tally{Kind: "mixed", Name: s, N: 1})
	}
	for _, plain := range []string{"order_2", "order_3", "order_1"} {
		all = append(all, store.Tally{Kind: "plain", Name: plain, N: 1}, store.Tally{Kind: "mixed", Name: plain, N: 1})
	}
	b.add(all...)
	sorted := slices.Sorted(slices.Values(awkward))
	bounds, err := b.Tallies(b.ctx, store.TallyQuery{Kind: "plain", From: "order_2", Before: "order_3", Limit: many})
	bounded := err == nil && len(bounds) == 1 // else it is a matter of rule 11
	names := func(q store.TallyQuery) []string {
		q.Kind, q.Limit = "kind", many
		rows, err := b.Tallies(b.ctx, q)
		b.equal(err, nil, "Tallies")
		var names []string
		for _, t := range rows {
			b.equal(int(t.N), slices.Index(awkward, t.Name)+1, "tally of %q", t.Name)
			names = append(names, t.Name)
		}
		return slices.Sorted(slices.Values(names)) // their order is another case's
	}
	b.equal(names(store.TallyQuery{}), sorted, "names")
	for i, s := range sorted {
		b.equal(b.standings(b, s), map[string]int64{"name": int64(slices.Index(awkward, s) + 1)}, "tallies of kind %q", s)
		if bounded && i%5 == 0 {
			b.equal(slices.Concat(names(store.TallyQuery{From: s})), slices.Concat(sorted[i:]), "names from %q", s)
			b.equal(slices.Concat(names(store.TallyQuery{Before: s})), slices.Concat(sorted[:i]), "names before %q", s)
		}
	}

	rows, err := b.Tallies(b.ctx, store.TallyQuery{Kind: "mixed", Limit: many})
	b.ok(err, "Tallies")
	var got, control []string
	for _, t := range rows {
		got = append(got, t.Name)
		if !slices.Contains(awkward, t.Name) {
			control = append(control, t.Name)
		}
	}
	if slices.IsSorted(control) { // else it is a matter of rule 10
		b.equal(got, slices.Sorted(slices.Values(got)), "order")
	}
}

func tallyFilters(b *bench) {
	rnd := rand.New(rand.NewPCG(11, 5))
	var rows []store.Tally
	for n := range 40 {
		t := store.Tally{Kind: word("kind", n%2), Name: word("name", n), N: 1 + rnd.Int64N(9)}
		rows = append(rows, t)
	}
	b.add(anys(rows)...)
	type query = store.TallyQuery
	for _, kind := range []string{"kind_0000", "kind_0001", "nothing"} {
		sweep(b, slices.Concat(
			by("From", func(q *query, v string) { q.From = v }, "a", "name_0007", "name_0020", "name_0020_", "z"),
			by("Before", func(q *query, v string) { q.Before = v }, "a", "name_0020", "name_0021", "name_0025", "z"),
			by("Descending", func(q *query, v bool) { q.Descending = v }, true),
		), rows, func(t store.Tally) string { return t.Name }, func(q query, t store.Tally) bool {
			return t.Kind == kind && t.Name >= q.From && (q.Before == "" || t.Name < q.Before)
		}, func(r store.Reader, q query) ([]string, error) {
			q.Kind, q.Limit = kind, many
			rows, err := r.Tallies(b.ctx, q)
			var names []string
			for _, t := range rows {
				names = append(names, t.Name)
			}
			return names, err
		})
	}
}

// tallyKinds keeps the same name under two kinds.
func tallyKinds(b *bench) {
	b.add(store.Tally{Kind: "one", Name: "name", N: 1})
	b.add(store.Tally{Kind: "two", Name: "name", N: 2})
	b.readers(func(how string, r store.Reader) {
		b.equal(b.standings(r, "one"), map[string]int64{"name": 1}, "tallies of kind one %s", how)
		b.equal(b.standings(r, "two"), map[string]int64{"name": 2}, "tallies of kind two %s", how)
	})
}

// tallyListing lists one kind within bounds that hold all its ranks.
func tallyListing(descending bool) listing {
	name := "ByName"
	if descending {
		name += "Descending"
	}
	row := func(rank int) store.Tally {
		if descending {
			rank = ranks - 1 - rank
		}
		return store.Tally{Kind: "kind", Name: word("name", rank), N: int64(rank*17%ranks + 1)}
	}
	foreign := row(20)
	foreign.Kind = "foreign"
	rank := rankOf(func(rank int) string { return row(rank).Name })
	return listing{
		area: "Tallies", name: name,
		noise: []any{foreign, store.Tally{Kind: "kind", Name: "a", N: 1}, store.Tally{Kind: "kind", Name: "z", N: 1}},
		row:   func(rank int) any { return row(rank) },
		list: func(ctx context.Context, r store.Reader, after, limit int) ([]int, error) {
			q := store.TallyQuery{Kind: "kind", From: "name", Before: "namf", Descending: descending, Limit: limit}
			if after >= 0 {
				q.After = row(after).Name
			}
			rows, err := r.Tallies(ctx, q)
			var got []int
			for _, t := range rows {
				got = append(got, rank(t.Name))
			}
			return got, err
		},
	}
}

func manyTallies(n int) []any {
	rows := make([]any, n)
	for i := range rows {
		rows[i] = store.Tally{Kind: "kind", Name: fmt.Sprintf("name_%04d", i), N: 1}
	}
	return rows
}

func countTallies(ctx context.Context, r store.Reader, limit int) (int, error) {
	rows, err := r.Tallies(ctx, store.TallyQuery{Kind: "kind", Limit: limit})
	return len(rows), err
}
