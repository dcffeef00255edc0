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
	foreign := entry("foreign", 5)
	b.add(entry("kind", 1), entry("kind", 2), entry("kind", 3), entry("kind", 4), foreign)
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
			{store.EntryQuery{Keys: []string{"missing"}}, nil},
			{store.EntryQuery{Keys: []string{}}, nil},
		} {
			q.Kind = "kind"
			rows, err := r.Entries(b.ctx, q.EntryQuery)
			b.equal(err, nil, "Entries of keys %q %s", q.Keys, how)
			b.listed(entryKeys(rows), q.want, "Entries of keys %q, descending %v, with a Limit of %d %s", q.Keys, q.Descending, q.Limit, how)
		}
	})
}

// entriesTogether writes several entries in one call, all or none.
func entriesTogether(b *bench) {
	rows := []store.Entry{entry("kind", 1), entry("other", 1), entry("kind", 2), entry("kind", 3)}
	again := entry("kind", 2)
	again.Owner = "changed"
	b.update(func(tx store.Tx) error { return tx.PutEntries(b.ctx, append(rows, again)...) })
	keys := func(r store.Reader, kind string) []string {
		rows, err := r.Entries(b.ctx, store.EntryQuery{Kind: kind, Limit: many})
		b.equal(err, nil, "Entries")
		return slices.Concat(slices.Sorted(slices.Values(entryKeys(rows))))
	}
	one, two, three := rows[0].Key, rows[2].Key, rows[3].Key
	b.equal(keys(b, "kind"), []string{one, two, three}, "keys after PutEntries of four")
	b.equal(keys(b, "other"), []string{one}, "keys of the other kind after PutEntries of four")
	got, err := b.Entry(b.ctx, "kind", two)
	b.equal(err, nil, "Entry")
	b.equal(got.Owner, again.Owner, "Owner of an entry that was put twice in one call")

	var missing error
	b.update(func(tx store.Tx) error {
		missing = tx.DeleteEntries(b.ctx, "kind", one, "missing", two)
		return nil
	})
	b.is(missing, store.ErrNotFound, "DeleteEntries with a missing key")
	b.equal(keys(b, "kind"), []string{one, two, three}, "keys after DeleteEntries with a missing key")
	b.update(func(tx store.Tx) error {
		if err := tx.DeleteEntries(b.ctx, "kind"); err != nil {
			return err
		}
		if err := tx.PutEntries(b.ctx); err != nil {
			return err
		}
		return tx.DeleteEntries(b.ctx, "kind", three, one)
	})
	b.equal(keys(b, "kind"), []string{two}, "keys after DeleteEntries of two")
	b.equal(keys(b, "other"), []string{one}, "keys of the other kind after DeleteEntries of two")

	// More than a backend writes in one statement.
	var long []store.Entry
	var longKeys []string
	for n := range 400 {
		e := entry("long", n)
		long, longKeys = append(long, e), append(longKeys, e.Key)
	}
	last := entry("long", 3)
	last.Owner = "changed"
	b.update(func(tx store.Tx) error { return tx.PutEntries(b.ctx, append(long, last)...) })
	b.equal(keys(b, "long"), longKeys, "keys after PutEntries of 401")
	got, err = b.Entry(b.ctx, "long", last.Key)
	b.equal(err, nil, "Entry")
	b.equal(got.Owner, last.Owner, "Owner of an entry that was put as the 4th and as the 401st of one call")
	b.update(func(tx store.Tx) error {
		missing = tx.DeleteEntries(b.ctx, "long", append(longKeys[:399:399], "missing")...)
		return nil
	})
	b.is(missing, store.ErrNotFound, "DeleteEntries of 399 keys and a missing one")
	b.equal(keys(b, "long"), longKeys, "keys after DeleteEntries of 399 keys and a missing one")
	b.update(func(tx store.Tx) error { return tx.DeleteEntries(b.ctx, "long", longKeys[:399:399]...) })
	b.equal(keys(b, "long"), longKeys[399:], "keys after DeleteEntries of 399")
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

// longKeys stores keys of the maximum length that differ only in their last bytes.
func longKeys(b *bench) {
	rnd := rand.New(rand.NewPCG(7, 5))
	long := make([]byte, store.MaxKey-1)
	for i := range long {
		long[i] = byte('a' + rnd.IntN(26))
	}
	one, two := entry("kind", 1), entry("kind", 2)
	one.Key, two.Key = string(long)+"1", string(long)+"2"
	b.add(two, one)
	b.readers(func(how string, r store.Reader) {
		got, err := r.Entry(b.ctx, "kind", two.Key)
		b.equal(err, nil, "Entry with a key of %d bytes %s", store.MaxKey, how)
		b.equal(got.Key, two.Key, "Key of %d bytes %s", store.MaxKey, how)
	})
}
