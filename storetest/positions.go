package storetest

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

// positionCases are about lists without filters that continue after a position.
func positionCases() []testCase {
	return []testCase{
		{"Positions", "OfAMovedRecord", 12, pageAfterAMovedRecord},
		{"Positions", "SubMilliseconds", 8, subMilliseconds},
		{"Positions", "Milliseconds", 8, milliseconds},
	}
}

// pageAfterAMovedRecord moves the record at a position before and after the others, in
// each list by a time, and then deletes it. Each list continues after the position.
func pageAfterAMovedRecord(b *bench) {
	s := newShelf(8, day)
	b.add(s.rows()...)
	l, e := s.licenses[2], s.entries[2]
	for _, to := range []time.Time{day(100), day(-100), {}} {
		moved, later := &s.licenses[2], &s.entries[2]
		moved.StartsAt, moved.ExpiresAt, later.ExpiresAt = to, to, to
		b.update(func(tx store.Tx) error {
			if to.IsZero() {
				return errors.Join(remove(b.ctx, tx, *moved), remove(b.ctx, tx, *later))
			}
			return errors.Join(replace(b.ctx, tx, *moved), replace(b.ctx, tx, *later))
		})
		for _, q := range []store.LicenseQuery{{}, {Order: store.ByExpiresAt}, {Order: store.ByStartsAt}} {
			at, _ := placed(q.Order, l)
			all := slices.DeleteFunc(s.inOrder(q), func(id string) bool { return to.IsZero() && id == l.ID })
			for _, q.Descending = range []bool{false, true} {
				q.After, q.Limit = at, many
				want := slices.DeleteFunc(slices.Clone(all), func(id string) bool {
					p, _ := placed(q.Order, s.licenses[slices.Index(licenseIDs(s.licenses), id)])
					c := cmp.Or(p.Time.Compare(at.Time), strings.Compare(id, at.ID))
					return c == 0 || c > 0 == q.Descending
				})
				if q.Descending {
					slices.Reverse(want)
				}
				b.readers(func(how string, r store.Reader) {
					found, err := r.Licenses(b.ctx, q)
					b.equal(err, nil, "Licenses %s", how)
					b.equal(slices.Concat(licenseIDs(found)), slices.Concat(want), "licenses after the place of one that has moved to %v %s, for %+v", to, how, q)
				})
			}
		}
		want := entryKeys(s.entries[3:])
		if to.After(day(50)) {
			want = append(want, e.Key)
		}
		found, err := b.Entries(b.ctx, store.EntryQuery{Kind: "kind", Order: store.ByExpiry, After: store.Position{Time: e.ExpiresAt, ID: e.Key}, Limit: many})
		b.equal(err, nil, "Entries")
		b.equal(entryKeys(found), want, "entries by expiry after the place of one that has moved to %v", to)
	}
}

// milliseconds has three records of each type whose times are one millisecond apart,
// and asks with each time of a query. Times that are a second apart come first,
// because failures with those belong to other rules.
func milliseconds(b *bench) {
	apart := b.stepsApart(time.Second)
	if len(apart) == 0 {
		b.list = append(b.list, b.stepsApart(time.Millisecond)...)
	}
	b.list = append(b.list, slices.DeleteFunc(apart, func(f failure) bool { return f.rule == b.rule })...)
}

// stepsApart returns the failures with times one step before, at and after one.
func (b *bench) stepsApart(step time.Duration) []failure {
	b = &bench{Store: b.Store, ctx: b.ctx, rule: b.rule, limits: b.limits, findings: &findings{}}
	at := day(5).Add(123 * time.Millisecond)
	one := license(1).ID
	var rows []any
	s := newBatch(3)
	for n := 1; n <= 3; n++ {
		l, a, e := s.licenses[n-1], s.seats[n-1], s.entries[n-1]
		t := at.Add(time.Duration(n-2) * step)
		l.StartsAt, l.ExpiresAt, a.LeaseEndsAt, e.ExpiresAt = t, t, t, t
		rows = append(rows, l, a, e)
	}
	b.add(rows...)
	b.readers(func(how string, r store.Reader) {
		for in, want := range map[store.TimeRange]int{
			{From: at}: 2, {Before: at}: 1, {From: at, Before: at.Add(step)}: 1, {From: at.Add(step)}: 1, {From: at.Add(-step), Before: at.Add(step)}: 2,
		} {
			b.within(r, in, want, how)
		}
		for n := range 3 {
			t := at.Add(time.Duration(n-1) * step)
			for off, want := range map[time.Duration]int{-time.Microsecond: 3 - n, 0: 2 - n, time.Microsecond: 2 - n} {
				seats, err := r.Activations(b.ctx, store.ActivationQuery{LicenseID: one, LiveAt: t.Add(off)})
				b.under(11).equal(err, nil, "Activations %s", how)
				b.under(11).equal(len(seats), want, "activations live at %v %s", t.Add(off), how)
			}
			for _, order := range []store.LicenseOrder{store.ByExpiresAt, store.ByStartsAt} {
				counts, err := r.CountLicenses(b.ctx, store.LicenseQuery{Order: order}, store.Position{}, store.Position{Time: t}, store.Position{Time: day(9)})
				b.equal(err, nil, "CountLicenses %s", how)
				b.equal(counts, []int64{int64(n), int64(3 - n)}, "counts of licenses before and after %v, in order %d %s", t, order, how)
			}
		}
	})
	b.update(func(tx store.Tx) error {
		for _, row := range slices.Backward(rows) {
			if _, stays := row.(store.Entry); stays { // until it is replaced
				continue
			}
			if err := remove(b.ctx, tx, row); err != nil {
				return err
			}
		}
		return nil
	})
	return b.found()
}

// within asks each query that has a TimeRange for records of a batch.
func (b *bench) within(r store.Reader, in store.TimeRange, want int, how string) {
	for _, q := range []store.LicenseQuery{
		{}, {CustomerID: "customer"}, {ProductID: "product"}, {State: "state"}, {CustomerID: "customer", ProductID: "product"}, {ProductID: "product", State: "state"},
	} {
		for _, q.Order = range []store.LicenseOrder{store.ByID, store.ByExpiresAt, store.ByStartsAt} {
			for _, both := range [][2]store.TimeRange{{in}, {1: in}} {
				q.Starts, q.Expires = both[0], both[1]
				rows, err1 := r.Licenses(b.ctx, q)
				found, _, err2 := r.FindLicenses(b.ctx, q)
				counts, err3 := r.CountLicenses(b.ctx, q)
				b.equal(errors.Join(err1, err2, err3), nil, "licenses for %+v %s", q, how)
				b.equal(fmt.Sprint(len(rows), len(found), counts), fmt.Sprint(want, want, []int{want}), "licenses listed, found and counted for %+v %s", q, how)
			}
		}
	}
	seats, err := r.Activations(b.ctx, store.ActivationQuery{LicenseID: license(1).ID, LeaseEnds: in})
	b.equal(err, nil, "Activations %s", how)
	b.equal(len(seats), want, "activations with LeaseEnds=%v %s", in, how)
	for _, owner := range []string{"", "owner"} {
		entries, err := r.Entries(b.ctx, store.EntryQuery{Kind: "kind", Order: store.ByExpiry, Owner: owner, Expires: in})
		b.equal(err, nil, "Entries %s", how)
		b.equal(len(entries), want, "entries of owner %q with Expires=%v %s", owner, in, how)
	}
}

// subMilliseconds writes times that differ by less than a millisecond, in the
// opposite order to that of the IDs. Stored in whole milliseconds they are
// equal, so the IDs determine the order. Equal times are checked first, because
// failures with those belong to other rules.
func subMilliseconds(b *bench) {
	for _, base := range []time.Time{day(1), time.Date(1960, time.May, 5, 0, 0, 0, 0, time.UTC)} {
		if len(b.inOneMillisecond(base, 0)) > 0 {
			return
		}
		b.list = append(b.list, b.inOneMillisecond(base, 100*time.Microsecond)...)
	}
}

// inOneMillisecond writes and lists times that are one step apart, from base on,
// and returns the failures.
func (b *bench) inOneMillisecond(base time.Time, step time.Duration) []failure {
	b = &bench{Store: b.Store, ctx: b.ctx, rule: b.rule, limits: b.limits, findings: &findings{}}
	const rows = 6
	at := func(n int) time.Time { return base.Add(time.Duration(rows-n) * step) }
	s := newBatch(rows)
	_, keys := s.ids()
	ids := licenseIDs(s.licenses)
	for n := range rows {
		l, a, e := s.licenses[n], s.seats[n], s.entries[n]
		l.StartsAt, l.ExpiresAt, a.LeaseEndsAt, e.ExpiresAt = at(n), at(n), at(n), at(n)
		b.add(l, a, e)
	}
	for n := range rows / 2 { // written again at another instant of the same millisecond
		l := s.licenses[n]
		l.StartsAt, l.ExpiresAt = at(n+1), at(n+1)
		b.update(func(tx store.Tx) error { return tx.UpdateLicense(b.ctx, l) })
	}
	b.readers(func(how string, r store.Reader) {
		for _, q := range []store.LicenseQuery{
			{Order: store.ByExpiresAt}, {Order: store.ByStartsAt},
			{Order: store.ByExpiresAt, Descending: true}, {Order: store.ByStartsAt, Descending: true},
		} {
			want := slices.Clone(ids)
			if q.Descending {
				slices.Reverse(want)
			}
			var got []string
			for q.Limit = 2; len(got) <= rows; {
				page, err := r.Licenses(b.ctx, q)
				if !b.equal(err, nil, "Licenses %s", how) || len(page) == 0 {
					break
				}
				got = append(got, licenseIDs(page)...)
				b.equal(page[0].ExpiresAt.Equal(base), true, "ExpiresAt of a license is %v %s", base, how)
				q.After = store.Position{Time: page[len(page)-1].ExpiresAt, ID: page[len(page)-1].ID}
			}
			b.equal(got, want, "licenses of one millisecond in pages of two, %s, for order %v, descending %v", how, q.Order, q.Descending)

			q.Limit, q.After = many, store.Position{Time: base.Add(9 * step), ID: want[2]} // the rest is cut off
			after, err := r.Licenses(b.ctx, q)
			b.equal(err, nil, "Licenses %s", how)
			b.equal(licenseIDs(after), want[3:], "licenses after a position %v into their millisecond, %s, for order %v, descending %v", 9*step, how, q.Order, q.Descending)
		}
		after, err := r.Entries(b.ctx, store.EntryQuery{Kind: "kind", Order: store.ByExpiry, After: store.Position{Time: base.Add(9 * step), ID: keys[2]}, Limit: many})
		b.equal(err, nil, "Entries %s", how)
		b.equal(entryKeys(after), keys[3:], "entries after a position %v into their millisecond, %s", 9*step, how)
		counts, err := r.CountLicenses(b.ctx, store.LicenseQuery{Order: store.ByStartsAt}, store.Position{Time: base.Add(9 * step), ID: ids[2]}, store.Position{Time: base.Add(time.Millisecond)})
		b.equal(err, nil, "CountLicenses %s", how)
		b.equal(counts, []int64{rows - 2}, "licenses from an edge %v into their millisecond on, %s", 9*step, how)
		ranges := map[store.TimeRange]int{{From: base}: rows, {Before: base}: 0}
		if step > 0 {
			ranges[store.TimeRange{From: base.Add(time.Microsecond)}] = 0
			ranges[store.TimeRange{Before: base.Add(time.Microsecond)}] = rows
		}
		for in, want := range ranges {
			b.within(r, in, want, how)
		}
	})
	b.update(func(tx store.Tx) error {
		for n := range rows {
			if err := errors.Join(remove(b.ctx, tx, s.seats[n]), remove(b.ctx, tx, s.licenses[n])); err != nil {
				return err
			}
		}
		return nil
	})
	return b.found()
}
