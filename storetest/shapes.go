package storetest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

// shapeCases check lists of every shape after the values that they are ordered and
// selected by have changed. An index that keeps a former value shows in them.
func shapeCases() []testCase {
	return []testCase{
		{"Shapes", "Moved", 11, shapesMoved},
		{"Shapes", "MadeAgain", 11, shapesMadeAgain},
	}
}

// A shelf is what the store should hold in the cases on shapes.
type shelf struct {
	licenses []store.License
	seats    []store.Activation // of the first license
	entries  []store.Entry      // of one kind
}

// newShelf returns records, of which the n-th has the time at(n), in groups of the
// given size.
func newShelf(group int, at func(n int) time.Time) (s shelf) {
	for n := range 6 {
		l, a, e := license(n), activation(license(0).ID, n), entry("kind", n)
		l.CustomerID, l.ProductID, l.State = word("customer", n%2), word("product", n/group), []store.State{store.StateActive, "state_0001"}[(n+group)%2]
		e.Owner = word("owner", n/group)
		l.StartsAt, l.ExpiresAt, a.LeaseEndsAt, e.ExpiresAt = at(n), at(5-n), at(n), at(n)
		if a.EndedAt = (time.Time{}); at(n).IsZero() {
			a.EndedAt = day(1)
		}
		s.licenses, s.seats, s.entries = append(s.licenses, l), append(s.seats, a), append(s.entries, e)
	}
	return s
}

// rows returns all records, licenses first.
func (s shelf) rows() []any { return slices.Concat(anys(s.licenses), anys(s.seats), anys(s.entries)) }

// shapesMoved replaces records by others with other times and in other groups.
func shapesMoved(b *bench) {
	b.add(newShelf(3, day).rows()...)
	later := newShelf(3, func(n int) time.Time { return day(20 - n) })
	for _, step := range []struct {
		when string
		to   []shelf // each replaces the one before in the same Update
	}{
		{"had moved to later times, in another order", []shelf{later}},
		{"had moved to other groups", []shelf{newShelf(2, func(n int) time.Time { return day(20 - n) })}},
		{"of which every other one had lost its time", []shelf{newShelf(2, func(n int) time.Time {
			if n%2 == 0 {
				return time.Time{}
			}
			return day(n)
		})}},
		{"had moved to times around 1970", []shelf{newShelf(2, func(n int) time.Time { return time.UnixMilli(int64(n*7%6-3) * 1000) })}},
		{"had moved away and back in one Update", []shelf{later, newShelf(3, day), newShelf(2, day)}},
	} {
		b.update(func(tx store.Tx) error {
			for _, to := range step.to {
				for _, row := range to.rows() {
					if err := replace(b.ctx, tx, row); err != nil {
						return err
					}
				}
			}
			return nil
		})
		step.to[len(step.to)-1].check(b, b.Store, step.when)
	}
	b.readers(func(how string, r store.Reader) { newShelf(2, day).check(b, r, "had moved several times, "+how) })
}

// shapesMadeAgain deletes records and adds others with the same identity.
func shapesMadeAgain(b *bench) {
	b.add(newShelf(3, day).rows()...)
	keys := 0
	for _, again := range []struct {
		when string
		shelf
	}{
		{"were deleted and added as they were", newShelf(3, day)},
		{"were deleted and added with other times", newShelf(3, func(n int) time.Time { return day(20 - n) })},
		{"were deleted and added in other groups", newShelf(2, func(n int) time.Time { return day(20 - n) })},
	} {
		rows := again.rows()
		clear := func(tx store.Tx) error {
			for _, row := range slices.Backward(rows) {
				if err := remove(b.ctx, tx, row); err != nil {
					return err
				}
			}
			return nil
		}
		fill := func(tx store.Tx) error {
			keys++
			for _, row := range rows {
				if l, ok := row.(store.License); ok {
					l.Key += fmt.Sprint("_", keys) // that the old key is free is for rule 19
					row = l
				}
				if err := put(b.ctx, tx, row); err != nil {
					return err
				}
			}
			return nil
		}
		b.update(clear)
		b.update(fill)
		again.check(b, b.Store, again.when)
		b.update(func(tx store.Tx) error {
			if err := clear(tx); err != nil {
				return err
			}
			return fill(tx)
		})
		again.check(b, b.Store, again.when+" in one Update")
	}
}

// check compares lists of every shape with what they should be, and counts.
func (s shelf) check(b *bench, r store.Reader, when string) {
	between := store.TimeRange{From: day(1), Before: day(18)}
	for _, q := range []store.LicenseQuery{
		{}, {CustomerID: word("customer", 1)}, {ProductID: word("product", 1)}, {CustomerID: word("customer", 1), ProductID: word("product", 0)},
		{State: store.StateActive}, {State: "state_0001"}, {ProductID: word("product", 1), State: store.StateActive}, {ProductID: word("product", 1), State: "state_0001"},
	} {
		orders := []store.LicenseQuery{{Order: store.ByID}, {Order: store.ByExpiresAt}, {Order: store.ByStartsAt}, {Order: store.ByExpiresAt, Expires: between}, {Order: store.ByStartsAt, Starts: between}}
		for _, in := range orders {
			q.Order, q.Expires, q.Starts = in.Order, in.Expires, in.Starts
			want := s.inOrder(q)
			counts, err := r.CountLicenses(b.ctx, q)
			if b.equal(err, nil, "CountLicenses") {
				b.under(31).equal(counts, []int64{int64(len(want))}, "count of licenses that %s, for %+v", when, q)
			}
			for _, descending := range []bool{false, true} {
				q := q
				if q.Descending, q.Limit = descending, many; descending {
					slices.Reverse(want)
				}
				found, err := r.Licenses(b.ctx, q)
				b.equal(err, nil, "Licenses")
				b.listed(licenseIDs(found), want, "licenses that %s, for %+v", when, q)
			}
		}
	}
	for _, q := range []store.EntryQuery{
		{}, {Order: store.ByExpiry}, {Order: store.ByExpiry, Owner: word("owner", 1)}, {Order: store.ByExpiry, Expires: between}, {Order: store.ByExpiry, Owner: word("owner", 0), Expires: between},
	} {
		q.Kind, q.Limit = "kind", many
		var rows []store.Entry
		for _, e := range s.entries {
			if q.Order == store.ByKey || !e.ExpiresAt.IsZero() && q.Expires.Contains(e.ExpiresAt) && (q.Owner == "" || e.Owner == q.Owner) {
				rows = append(rows, e)
			}
		}
		slices.SortStableFunc(rows, func(x, y store.Entry) int {
			if q.Order == store.ByKey {
				return 0
			}
			return x.ExpiresAt.Compare(y.ExpiresAt)
		})
		found, err := r.Entries(b.ctx, q)
		b.equal(err, nil, "Entries")
		b.listed(entryKeys(found), entryKeys(rows), "entries that %s, for %+v", when, q)
	}
	for _, q := range []store.ActivationQuery{{}, {LiveAt: day(2)}, {LeaseEnds: between}, {LeaseEnds: store.TimeRange{Before: day(30), OrNone: true}}} {
		q.LicenseID, q.Limit = s.licenses[0].ID, many
		var rows []store.Activation
		for _, a := range s.seats {
			if live(q, a) {
				rows = append(rows, a)
			}
		}
		if !q.LeaseEnds.IsZero() {
			slices.SortStableFunc(rows, func(x, y store.Activation) int { return x.LeaseEndsAt.Compare(y.LeaseEndsAt) })
		}
		found, err := r.Activations(b.ctx, q)
		b.equal(err, nil, "Activations")
		b.listed(activationIDs(found), activationIDs(rows), "activations that %s, for %+v", when, q)
	}
}

// inOrder returns the IDs of the licenses that match q, in its order, ascending.
func (s shelf) inOrder(q store.LicenseQuery) []string {
	rows := slices.DeleteFunc(slices.Clone(s.licenses), func(l store.License) bool {
		_, in := placed(q.Order, l)
		return !in || !selects(q, l)
	})
	slices.SortFunc(rows, func(x, y store.License) int {
		p, _ := placed(q.Order, x)
		o, _ := placed(q.Order, y)
		return cmp.Or(p.Time.Compare(o.Time), strings.Compare(p.ID, o.ID))
	})
	return licenseIDs(rows)
}

// listed compares a list with what it should be. A list of the right records in
// another order breaks the rule on order.
func (b *bench) listed(got, want []string, what string, args ...any) {
	if slices.Equal(slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))) {
		b = b.under(10)
	}
	b.equal(slices.Concat(got), slices.Concat(want), what, args...)
}
