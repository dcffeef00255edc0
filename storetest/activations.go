package storetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

func activationCases() []testCase {
	return slices.Concat(activations.cases(), activationListing.cases(), []testCase{
		{"Activations", "Filters", 11, activationFilters},
		{"Activations", "LiveAtItsEnd", 11, activationLiveAtItsEnd},
		{"Activations", "LeaseOrder", 10, activationLeaseOrder},
		{"Activations", "Together", 14, activationsTogether},
		{"Activations", "UniqueWithinTheLicense", 14, activationUnique},
		limit("Activations", manyActivations, countActivations),
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

// activationLiveAtItsEnd looks around the end of a lease.
func activationLiveAtItsEnd(b *bench) {
	a := activation(license(1).ID, 1)
	a.EndedAt = time.Time{}
	b.add(license(1), a)
	b.readers(func(how string, r store.Reader) {
		for _, c := range []struct {
			at   time.Time
			want int
		}{
			{a.LeaseEndsAt.Add(-time.Second), 1},
			{a.LeaseEndsAt.Add(-time.Microsecond), 1},
			{a.LeaseEndsAt, 0},
			{a.LeaseEndsAt.Add(time.Microsecond), 0},
			{a.LeaseEndsAt.Add(time.Second), 0},
		} {
			q := store.ActivationQuery{LicenseID: a.LicenseID, LiveAt: c.at, Limit: many}
			when := fmt.Sprintf("%v from the end of the lease, %s", c.at.Sub(a.LeaseEndsAt), how)
			list, err := r.Activations(b.ctx, q)
			b.equal(err, nil, "Activations %s", when)
			b.equal(len(list), c.want, "Activations %s", when)
		}
	})
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

// activationsTogether writes several activations in one call, all or none.
func activationsTogether(b *bench) {
	one, two := license(1).ID, license(2).ID
	b.add(license(1), license(2))
	var rows []store.Activation
	var want []string
	for n := range 40 { // more than a backend writes in one statement
		rows = append(rows, activation(one, n))
		want = append(want, rows[n].ID)
	}
	other, again := activation(two, 1), activation(one, 7)
	again.Document = []byte("changed")
	b.update(func(tx store.Tx) error { return tx.PutActivations(b.ctx, append(rows, other, again)...) })
	ids := func(r store.Reader, id string) []string {
		rows, err := r.Activations(b.ctx, store.ActivationQuery{LicenseID: id, Limit: many})
		b.equal(err, nil, "Activations")
		return slices.Concat(slices.Sorted(slices.Values(activationIDs(rows))))
	}
	b.equal(ids(b, one), want, "activations after PutActivations of 42")
	b.equal(ids(b, two), []string{other.ID}, "activations of the other license after PutActivations of 42")
	got, err := b.Activation(b.ctx, one, again.Fingerprint)
	b.equal(err, nil, "Activation")
	b.equal(string(got.Document), string(again.Document), "Document of an activation that was put twice in one call")

	before := b.dump()
	twin := activation(one, 91)
	twin.Fingerprint = activation(one, 90).Fingerprint
	taken := activation(one, 92)
	taken.Fingerprint = rows[3].Fingerprint
	for _, c := range []struct {
		name string
		want error
		bad  []store.Activation
	}{
		{"of a missing license", store.ErrNotFound, []store.Activation{activation("missing", 93)}},
		{"with a Fingerprint that is taken", store.ErrExists, []store.Activation{taken}},
		{"with a Fingerprint that is taken, and then another", store.ErrExists, []store.Activation{taken, activation(one, 92)}},
		{"with the Fingerprint of another in the call", store.ErrExists, []store.Activation{twin}},
	} {
		for _, place := range []int{1, 20} {
			changed := activation(one, 5)
			changed.Document = []byte("changed")
			call := []store.Activation{activation(one, 90), changed}
			for n := range 20 {
				call = append(call, activation(two, 100+n))
			}
			call = slices.Insert(call, place, c.bad...)
			var err error
			b.update(func(tx store.Tx) error {
				err = tx.PutActivations(b.ctx, call...)
				return nil
			})
			b.is(err, c.want, "PutActivations of 22 and one %s", c.name)
			b.same(b.dump(), before, "PutActivations of 22 and one %s", c.name)
		}
	}

	heir := activation(two, 2)
	heir.Fingerprint, other.Fingerprint = other.Fingerprint, activation(two, 3).Fingerprint
	b.update(func(tx store.Tx) error { return tx.PutActivations(b.ctx, other, heir) })
	got, err = b.Activation(b.ctx, two, heir.Fingerprint)
	b.equal(err, nil, "Activation")
	b.equal(got.ID, heir.ID, "activation with a Fingerprint that another gave up in the same call")

	before = b.dump()
	b.update(func(tx store.Tx) error {
		err = tx.DeleteActivations(b.ctx, one, want[0], "missing", want[1])
		return nil
	})
	b.is(err, store.ErrNotFound, "DeleteActivations with a missing one")
	b.same(b.dump(), before, "DeleteActivations with a missing one")
	b.update(func(tx store.Tx) error {
		if err := tx.DeleteActivations(b.ctx, one); err != nil {
			return err
		}
		if err := tx.PutActivations(b.ctx); err != nil {
			return err
		}
		return tx.DeleteActivations(b.ctx, one, want[2:]...)
	})
	b.equal(ids(b, one), want[:2], "activations after DeleteActivations of 38")
	b.equal(ids(b, two), []string{other.ID, heir.ID}, "activations of the other license after DeleteActivations of 38")
}

// activationUnique gives one ID and fingerprint to activations of two
// licenses, and a fingerprint that was given up to another activation.
func activationUnique(b *bench) {
	one, two := license(1).ID, license(2).ID
	b.add(license(1), license(2))
	b.ok(b.tryAdd(activation(one, 1)), "the first activation")
	b.ok(b.tryAdd(activation(two, 1)), "the same ID and fingerprint under another license")
	for _, id := range []string{one, two} {
		rows, err := b.Activations(b.ctx, store.ActivationQuery{LicenseID: id, Limit: many})
		b.ok(err, "Activations")
		b.equal(len(rows), 1, "activations of %s", id)
	}

	moved, heir := activation(one, 1), activation(one, 2)
	moved.Fingerprint, heir.Fingerprint = "moved", moved.Fingerprint
	b.ok(b.tryAdd(moved), "putting an activation with another fingerprint")
	got, err := b.Activation(b.ctx, one, heir.Fingerprint)
	b.gone(got.ID, err, "Activation by the fingerprint that was given up")
	b.ok(b.tryAdd(heir), "putting another activation with the fingerprint that was given up")
	got, err = b.Activation(b.ctx, one, heir.Fingerprint)
	b.ok(err, "Activation by the fingerprint that was taken over")
	b.equal(got.ID, heir.ID, "Activation by the fingerprint that was taken over")
	b.update(func(tx store.Tx) error { return remove(b.ctx, tx, heir) })
	b.ok(b.tryAdd(activation(one, 3), store.Activation{LicenseID: one, ID: "last", Fingerprint: heir.Fingerprint}),
		"putting an activation with the fingerprint of a deleted one")
}

func manyActivations(n int) []any {
	rows := []any{license(1)}
	for i := range n {
		rows = append(rows, activation(license(1).ID, i))
	}
	return rows
}

func countActivations(ctx context.Context, r store.Reader, limit int) (int, error) {
	rows, err := r.Activations(ctx, store.ActivationQuery{LicenseID: license(1).ID, Limit: limit})
	return len(rows), err
}
