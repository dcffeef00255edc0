package storetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

func entryCases() []testCase {
	return slices.Concat(entries.cases(), entryListing.cases(), entryKeyListing(false).cases(), entryKeyListing(true).cases(), []testCase{
		{"Entries", "Filters", 11, entryFilters},
		{"Entries", "KeyFilters", 11, entryKeyFilters},
		{"Entries", "Keys", 11, entriesOfKeys},
		{"Entries", "AllKinds", 12, entriesOfAllKinds},
		{"Entries", "Queries", 22, entryQueries},
	})
}

var entries = kind[store.Entry]{
	area:     "Entries",
	plain:    func(n int) store.Entry { return entry(word("kind", n), n) },
	identity: []string{"Kind", "Key"},
	same:     func(a, b store.Entry) bool { return a.Kind == b.Kind && a.Key == b.Key },
	replace: func(ctx context.Context, tx store.Tx, _, row store.Entry) error {
		return tx.PutEntries(ctx, row)
	},
	reads: []read[store.Entry]{
		{"Entry", func(ctx context.Context, r store.Reader, want store.Entry) ([]store.Entry, error) {
			return get(r.Entry(ctx, want.Kind, want.Key))
		}, true},
		{"Entries", func(ctx context.Context, r store.Reader, want store.Entry) ([]store.Entry, error) {
			return r.Entries(ctx, store.EntryQuery{Kind: want.Kind, Limit: many})
		}, true},
		{"Entries of all kinds", func(ctx context.Context, r store.Reader, want store.Entry) ([]store.Entry, error) {
			return r.Entries(ctx, store.EntryQuery{Limit: many})
		}, false},
		{"Entries by Owner", func(ctx context.Context, r store.Reader, want store.Entry) ([]store.Entry, error) {
			if want.ExpiresAt.IsZero() { // not in any list by expiry
				return get(r.Entry(ctx, want.Kind, want.Key))
			}
			return r.Entries(ctx, store.EntryQuery{Kind: want.Kind, Order: store.ByExpiry, Owner: want.Owner, Limit: many})
		}, true},
	},
	sortedBy: "Key",
	ids: func(ctx context.Context, r store.Reader) ([]string, error) {
		rows, err := r.Entries(ctx, store.EntryQuery{Kind: word("kind", 10), Limit: many})
		return entryKeys(rows), err
	},
}

func entryKeys(rows []store.Entry) []string {
	var keys []string
	for _, e := range rows {
		keys = append(keys, e.Key)
	}
	return keys
}

var entryListing = func() listing {
	row := func(rank int) store.Entry {
		pair := rank / 2
		e := entry("kind", rank)
		e.Key, e.Owner = fmt.Sprintf("key_%02d_%02d", pair*7%ranks, rank), "owner"
		e.ExpiresAt = day(pair)
		return e
	}
	other, foreign, lasting := row(20), row(40), row(30)
	other.Key, other.Owner = other.Key+"_noise", "other"
	foreign.Kind = "foreign"
	lasting.Key, lasting.ExpiresAt = lasting.Key+"_lasting", time.Time{}
	rank := rankOf(func(rank int) string { return row(rank).Key })
	return listing{
		area: "Entries", name: "ByExpiry",
		noise: []any{other, foreign, lasting},
		row:   func(rank int) any { return row(rank) },
		list: func(ctx context.Context, r store.Reader, after, limit int) ([]int, error) {
			q := store.EntryQuery{Kind: "kind", Order: store.ByExpiry, Owner: "owner", Limit: limit}
			if after >= 0 {
				q.After = store.Position{Time: row(after).ExpiresAt.In(elsewhere), ID: row(after).Key}
			}
			rows, err := r.Entries(ctx, q)
			var got []int
			for _, e := range rows {
				got = append(got, rank(e.Key))
			}
			return got, err
		},
	}
}()

// entryFilters lists entries with values from small sets, some of which were
// replaced and some removed.
func entryFilters(b *bench) {
	rnd := rand.New(rand.NewPCG(11, 3))
	draw := func(n int) store.Entry {
		e := entry(word("kind", n%2), n)
		e.Owner = word("owner", rnd.IntN(3))
		e.ExpiresAt = day(rnd.IntN(4))
		switch rnd.IntN(5) {
		case 0:
			e.ExpiresAt = time.Time{}
		case 1:
			e.Owner = ""
		}
		return e
	}
	var rows []store.Entry
	for n := range 50 {
		rows = append(rows, draw(n))
	}
	b.add(anys(rows)...)
	for n := range 20 {
		rows[n] = draw(n)
	}
	b.add(anys(rows[:20])...)
	for range 6 {
		b.update(func(tx store.Tx) error { return remove(b.ctx, tx, rows[0]) })
		rows = rows[1:]
	}

	type query = store.EntryQuery
	for _, kind := range []string{"kind_0000", "kind_0001", "nothing"} {
		after := store.Position{Time: day(1), ID: word("key", 25)}
		s := sweep[query, store.Entry]{
			slices.Concat(
				by("Owner", func(q *query, v string) { q.Owner = v }, "owner_0000", "owner_0001", "nothing"),
				by("Expires", func(q *query, v store.TimeRange) { q.Expires = v }, ranges()...),
				by("After", func(q *query, v store.Position) { q.After = v }, after),
			), rows, func(e store.Entry) string { return e.Key },
			func(q query, e store.Entry) bool {
				behind := q.After.IsZero() || e.ExpiresAt.After(after.Time) || e.ExpiresAt.Equal(after.Time) && e.Key > after.ID
				return e.Kind == kind && (q.Owner == "" || e.Owner == q.Owner) && !e.ExpiresAt.IsZero() && q.Expires.Contains(e.ExpiresAt) && behind
			},
			func(r store.Reader, q query) ([]string, error) {
				q.Kind, q.Order, q.Limit = kind, store.ByExpiry, many
				rows, err := r.Entries(b.ctx, q)
				return entryKeys(rows), err
			},
		}
		s.pairs(b)
		s.threes(b)
	}
}
