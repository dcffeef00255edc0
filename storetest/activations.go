package storetest

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

func activationCases() []testCase {
	return slices.Concat(activations.cases(), activationListing.cases(), []testCase{
		{"Activations", "Filters", 11, activationFilters},
		{"Activations", "LeaseOrder", 10, activationLeaseOrder},
	})
}

// The activations of the kind's cases are those of one license.
var activations = kind[store.Activation]{
	area:     "Activations",
	needs:    []any{license(1), license(2)},
	plain:    func(n int) store.Activation { return activation(license(1).ID, n) },
	fixed:    []string{"LicenseID"},
	identity: []string{"LicenseID", "ID"},
	unique:   []string{"Fingerprint"},
	same:     func(a, b store.Activation) bool { return a.ID == b.ID },
	replace: func(ctx context.Context, tx store.Tx, _, row store.Activation) error {
		return tx.PutActivations(ctx, row)
	},
	reads: []read[store.Activation]{
		{"Activation", func(ctx context.Context, r store.Reader, want store.Activation) ([]store.Activation, error) {
			return get(r.Activation(ctx, want.LicenseID, want.Fingerprint))
		}, true},
		{"Activations", func(ctx context.Context, r store.Reader, want store.Activation) ([]store.Activation, error) {
			return r.Activations(ctx, store.ActivationQuery{LicenseID: want.LicenseID, Limit: many})
		}, false},
	},
	sortedBy: "ID",
	ids: func(ctx context.Context, r store.Reader) ([]string, error) {
		rows, err := r.Activations(ctx, store.ActivationQuery{LicenseID: license(1).ID, Limit: many})
		return activationIDs(rows), err
	},
}

func activationIDs(rows []store.Activation) []string {
	var ids []string
	for _, a := range rows {
		ids = append(ids, a.ID)
	}
	return ids
}

var activationListing = func() listing {
	row := func(rank int) store.Activation {
		a := activation(license(1).ID, rank)
		a.LeaseEndsAt = day(rank * 17 % ranks)
		a.Fingerprint = word("print", rank*17%ranks)
		return a
	}
	rank := rankOf(func(rank int) string { return row(rank).ID })
	return listing{
		area: "Activations", name: "ByID",
		needs: []any{license(1), license(2)},
		noise: []any{activation(license(2).ID, 5), activation(license(2).ID, 25)},
		row:   func(rank int) any { return row(rank) },
		list: func(ctx context.Context, r store.Reader, after, limit int) ([]int, error) {
			q := store.ActivationQuery{LicenseID: license(1).ID, Limit: limit}
			if after >= 0 {
				q.After = row(after).ID
			}
			rows, err := r.Activations(ctx, q)
			var got []int
			for _, a := range rows {
				got = append(got, rank(a.ID))
			}
			return got, err
		},
	}
}()

func live(q store.ActivationQuery, a store.Activation) bool {
	return a.LicenseID == q.LicenseID &&
		(q.LiveAt.IsZero() || a.EndedAt.IsZero() && (a.LeaseEndsAt.IsZero() || a.LeaseEndsAt.After(q.LiveAt))) &&
		(q.LeaseEnds.IsZero() || a.EndedAt.IsZero() && q.LeaseEnds.Contains(a.LeaseEndsAt))
}

// activationFilters lists activations that were ended, whose lease
// has ended, that never end, and that were replaced by one of the others.
func activationFilters(b *bench) {
	rnd := rand.New(rand.NewPCG(11, 2))
	var rows []store.Activation
	draw := func(n int) store.Activation {
		a := activation(license(1+n%2).ID, n)
		a.LeaseEndsAt, a.EndedAt = day(rnd.IntN(4)), time.Time{}
		switch rnd.IntN(4) {
		case 0:
			a.LeaseEndsAt = time.Time{}
		case 1:
			a.EndedAt = day(rnd.IntN(4))
		}
		return a
	}
	b.add(license(1), license(2))
	for n := range 40 {
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

	type query = store.ActivationQuery
	of := by("LicenseID", func(q *query, v string) { q.LicenseID = v }, license(1).ID, license(2).ID, "nothing")
	liveAt := by("LiveAt", func(q *query, v time.Time) { q.LiveAt = v }, day(-1), day(0), day(1), day(2), day(3), day(4), day(1).In(elsewhere))
	ends := by("LeaseEnds", func(q *query, v store.TimeRange) { q.LeaseEnds = v }, ranges()...)
	after := by("After", func(q *query, v string) { q.After = v }, word("act", 11), word("act", 30)) // ignored with LeaseEnds
	s := sweep[query, store.Activation]{
		slices.Concat(of, liveAt, ends), rows, func(a store.Activation) string { return a.ID },
		func(q query, a store.Activation) bool { return live(q, a) && beyond(q.After, false, a.ID) },
		func(r store.Reader, q query) ([]string, error) {
			q.Limit = many
			rows, err := r.Activations(b.ctx, q)
			return activationIDs(rows), err
		},
	}
	s.pairs(b)
	s.threes(b)
	s.filters = slices.Concat(of, liveAt, after)
	s.threes(b)
}

// activationLeaseOrder lists activations by the ends of their leases, whole and
// cut by Limit: those without a lease first, and equal ends in the order of IDs.
func activationLeaseOrder(b *bench) {
	id := license(1).ID
	rows := []any{license(1), license(2), activation(license(2).ID, 1)}
	var none, leases []string
	for n := range 12 {
		a := activation(id, n)
		a.EndedAt, a.LeaseEndsAt = time.Time{}, time.Time{}
		switch n % 3 {
		case 0:
			none = append(none, a.ID)
		case 1:
			a.LeaseEndsAt = day(3 - n/6) // the later half ends first
			leases = append(leases, a.ID)
		default:
			a.EndedAt, a.LeaseEndsAt = day(1), day(2)
		}
		rows = append(rows, a)
	}
	b.add(rows...)
	leases = slices.Concat(leases[len(leases)/2:], leases[:len(leases)/2])
	b.readers(func(how string, r store.Reader) {
		for _, c := range []struct {
			ends store.TimeRange
			want []string
		}{
			{store.TimeRange{Before: day(4)}, leases},
			{store.TimeRange{From: day(1)}, leases},
			{store.TimeRange{Before: day(4), OrNone: true}, slices.Concat(none, leases)},
			{store.TimeRange{From: day(1), OrNone: true}, slices.Concat(none, leases)},
			{store.TimeRange{Before: day(1), OrNone: true}, none},
		} {
			for _, limit := range []int{many, 1, 3} {
				list, err := r.Activations(b.ctx, store.ActivationQuery{LicenseID: id, LeaseEnds: c.ends, After: leases[0], Limit: limit})
				b.equal(err, nil, "Activations by LeaseEnds %s", how)
				b.equal(activationIDs(list), c.want[:min(limit, len(c.want))], "Activations with LeaseEnds=%v, Limit=%d %s", c.ends, limit, how)
			}
		}
	})
}
