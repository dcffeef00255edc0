package storetest

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

// entryKeyListing lists one kind by key, within bounds that hold all its ranks.
func entryKeyListing(descending bool) listing {
	name := "ByKey"
	if descending {
		name += "Descending"
	}
	row := func(rank int) store.Entry {
		e := entry("kind", rank*17%ranks)
		if descending {
			rank = ranks - 1 - rank
		}
		e.Key = word("key", rank)
		if rank%3 == 0 {
			e.ExpiresAt = time.Time{}
		}
		return e
	}
	foreign, below, above := row(20), row(21), row(22)
	foreign.Kind, below.Key, above.Key = "foreign", "a", "z"
	rank := rankOf(func(rank int) string { return row(rank).Key })
	return listing{
		area: "Entries", name: name,
		noise: []any{foreign, below, above},
		row:   func(rank int) any { return row(rank) },
		list: func(ctx context.Context, r store.Reader, after, limit int) ([]int, error) {
			q := store.EntryQuery{Kind: "kind", From: "key", Before: "kez", Descending: descending, Limit: limit}
			if after >= 0 {
				q.After = store.Position{Time: day(after), ID: row(after).Key} // only the ID counts
			}
			rows, err := r.Entries(ctx, q)
			var got []int
			for _, e := range rows {
				got = append(got, rank(e.Key))
			}
			return got, err
		},
	}
}

// entryKeyFilters lists ranges of keys.
func entryKeyFilters(b *bench) {
	rnd := rand.New(rand.NewPCG(11, 5))
	var rows []store.Entry
	for n := range 40 {
		e := entry(word("kind", n%2), n)
		if rnd.IntN(2) == 0 {
			e.ExpiresAt = time.Time{}
		}
		rows = append(rows, e)
	}
	for n, key := range []string{"\U0010FFFE", "\U0010FFFF", "\U0010FFFFx", "\U0010FFFF\U0010FFFF"} {
		e := entry(word("kind", 0), 100+n)
		e.Key = key
		rows = append(rows, e)
	}
	b.add(anys(rows)...)
	type query = store.EntryQuery
	for _, kind := range []string{"kind_0000", "kind_0001", "nothing"} {
		s := sweep[query, store.Entry]{
			slices.Concat(
				by("From", func(q *query, v string) { q.From = v }, "a", "key_0007", "key_0020", "key_0020_", "z"),
				by("Before", func(q *query, v string) { q.Before = v }, "a", "key_0020", "key_0021", "key_0025", store.PrefixEnd("key_002"), "z"),
				by("Descending", func(q *query, v bool) { q.Descending = v }, true),
				by("After", func(q *query, v string) { q.After.ID = v }, "key_0018", "key_0021"),
			), rows, func(e store.Entry) string { return e.Key },
			func(q query, e store.Entry) bool {
				return e.Kind == kind && e.Key >= q.From && (q.Before == "" || e.Key < q.Before) && beyond(q.After.ID, q.Descending, e.Key)
			},
			func(r store.Reader, q query) ([]string, error) {
				q.Kind, q.Limit = kind, many
				rows, err := r.Entries(b.ctx, q)
				return entryKeys(rows), err
			},
		}
		s.pairs(b)
		s.threes(b)
	}
}

// entriesOfKeys reads some entries by their keys.
func entriesOfKeys(b *bench) {
	foreign := entry("foreign", 0)
	rows := []any{foreign}
	var rising []string
	for n := range 200 {
		rows, rising = append(rows, entry("kind", n+1)), append(rising, word("key", n+1))
	}
	b.add(rows...)
	falling := slices.Clone(rising)
	slices.Reverse(falling)
	one, two, four := word("key", 1), word("key", 2), word("key", 4)
	b.readers(func(how string, r store.Reader) {
		for _, q := range []struct {
			store.EntryQuery
			want []string
		}{
			{store.EntryQuery{Keys: []string{four, one, two}}, []string{one, two, four}},
			{store.EntryQuery{Keys: []string{four, one, two}, Descending: true}, []string{four, two, one}},
			{store.EntryQuery{Keys: []string{two, "missing", foreign.Key, two}}, []string{two}},
			{store.EntryQuery{Keys: []string{four, one, two}, Limit: 2}, []string{one, two}},
			{store.EntryQuery{Keys: []string{one, four, two}, Limit: 2, Descending: true}, []string{four, two}},
			{store.EntryQuery{Keys: falling}, rising},
			{store.EntryQuery{Keys: rising, Descending: true}, falling},
			{store.EntryQuery{Keys: []string{"missing"}}, nil},
			{store.EntryQuery{Keys: []string{}}, nil},
		} {
			q.Kind = "kind"
			rows, err := r.Entries(b.ctx, q.EntryQuery)
			b.equal(err, nil, "Entries of keys %.5q %s", q.Keys, how)
			b.listed(entryKeys(rows), q.want, "Entries of keys %.5q, descending %v, with a Limit of %d %s", q.Keys, q.Descending, q.Limit, how)
		}
	})
}

// entryQueries makes queries that no order supports.
func entryQueries(b *bench) {
	b.add(entry("kind", 1))
	for _, q := range []store.EntryQuery{
		{Limit: 1, Before: "z"},
		{Limit: 1, Order: store.ByExpiry},
		{Limit: 1, After: store.Position{ID: "a"}},
		{Kind: "kind", AfterKind: "a"},
		{Kind: "kind", Owner: word("owner", 1)},
		{Kind: "kind", Expires: store.TimeRange{Before: day(9)}},
		{Kind: "kind", Order: store.ByExpiry, Keys: []string{word("key", 1)}},
		{Kind: "kind", Order: store.ByExpiry, From: "a"},
		{Kind: "kind", Order: store.ByExpiry, Before: "z"},
		{Kind: "kind", Order: store.ByExpiry, Descending: true},
		{Kind: "kind", Order: store.ByExpiry + 1},
		{Kind: "kind", Keys: []string{word("key", 1)}, From: "a"},
		{Kind: "kind", Keys: []string{word("key", 1)}, Before: "z"},
		{Kind: "kind", Keys: []string{word("key", 1)}, After: store.Position{ID: "a"}},
		{Kind: "kind", Keys: make([]string, store.MaxLimit+1)},
	} {
		rows, err := b.Entries(b.ctx, q)
		if err == nil {
			b.fail(rows, "an error", "Entries of a query that the contract does not know: %+v", q.Check())
		}
	}
	for _, q := range []store.LicenseQuery{
		{IDs: []string{"a"}, Order: store.ByExpiresAt},
		{IDs: []string{"a"}, Order: store.ByStartsAt},
		{IDs: make([]string, store.MaxLimit+1)},
	} {
		rows, err := b.Licenses(b.ctx, q)
		if err == nil {
			b.fail(rows, "an error", "Licenses of a query that the contract does not know: %+v", q.Check())
		}
	}
}

// entriesOfAllKinds pages through the entries of all kinds.
func entriesOfAllKinds(b *bench) {
	var want []string
	for n := range 9 {
		e := entry(word("kind", n/4), n%4)
		if n%2 == 0 {
			e.ExpiresAt = time.Time{}
		}
		b.add(e)
		want = append(want, e.Kind+" "+e.Key)
	}
	b.readers(func(how string, r store.Reader) {
		for _, size := range []int{1, 3, 4, many} {
			var got []string
			q := store.EntryQuery{Limit: size}
			for len(got) <= len(want) {
				rows, err := r.Entries(b.ctx, q)
				if !b.equal(err, nil, "Entries of all kinds %s", how) || len(rows) == 0 {
					break
				}
				for _, e := range rows {
					got = append(got, e.Kind+" "+e.Key)
					q.AfterKind, q.After.ID = e.Kind, e.Key
				}
			}
			b.equal(got, want, "entries of all kinds in pages of %d %s", size, how)
		}
	})
}
