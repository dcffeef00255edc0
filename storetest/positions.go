package storetest

import (
	"slices"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

// positionCases are about lists without filters that continue after a position.
func positionCases() []testCase {
	return []testCase{
		{"Positions", "OfADeletedLicense", 12, pageAfterADeletedLicense},
		{"Positions", "OfADeletedEntry", 12, pageAfterADeletedEntry},
		{"Positions", "SubMilliseconds", 8, subMilliseconds},
	}
}

// pageAfterADeletedLicense reads one page of all licenses, deletes the last
// license of that page, and reads the next one, in each order and direction.
func pageAfterADeletedLicense(b *bench) {
	const rows = 12
	var ids []string
	for n := range rows {
		b.add(license(n)) // each later in every order than the one before
		ids = append(ids, license(n).ID)
	}
	for i, q := range []store.LicenseQuery{
		{Order: store.ByID}, {Order: store.ByExpiresAt}, {Order: store.ByStartsAt},
		{Order: store.ByID, Descending: true}, {Order: store.ByExpiresAt, Descending: true}, {Order: store.ByStartsAt, Descending: true},
	} {
		want := slices.Clone(ids)
		if q.Descending {
			slices.Reverse(want)
		}
		const place = 4
		last := license(slices.Index(ids, want[place]))
		q.After = store.Position{ID: last.ID}
		switch q.Order {
		case store.ByExpiresAt:
			q.After.Time = last.ExpiresAt
		case store.ByStartsAt:
			q.After.Time = last.StartsAt
		}
		b.update(func(tx store.Tx) error { return remove(b.ctx, tx, last) })
		for _, q.Limit = range []int{3, many} {
			b.readers(func(how string, r store.Reader) {
				got, err := r.Licenses(b.ctx, q)
				b.equal(err, nil, "Licenses %s", how)
				b.equal(licenseIDs(got), want[place+1:][:min(q.Limit, rows-place-1)],
					"licenses after one that was deleted, %s, for %+v", how, q)
			})
		}
		last.Key = word("again", i) // that the old key is free is for rule 19
		b.add(last)
	}
}

// pageAfterADeletedEntry does the same with entries.
func pageAfterADeletedEntry(b *bench) {
	var keys []string
	for n := range 8 {
		b.add(entry("kind", n))
		keys = append(keys, entry("kind", n).Key)
	}
	last := entry("kind", 3)
	b.update(func(tx store.Tx) error { return remove(b.ctx, tx, last) })
	b.readers(func(how string, r store.Reader) {
		got, err := r.Entries(b.ctx, store.EntryQuery{Kind: "kind", Order: store.ByExpiry, After: store.Position{Time: last.ExpiresAt, ID: last.Key}, Limit: 3})
		b.equal(err, nil, "Entries %s", how)
		b.equal(entryKeys(got), keys[4:7], "entries after one that was deleted, %s", how)
	})
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
	var ids, keys []string
	for n := range rows {
		l, e := license(n), entry("kind", n)
		l.StartsAt, l.ExpiresAt, e.ExpiresAt = at(n), at(n), at(n)
		b.add(l, e)
		ids, keys = append(ids, l.ID), append(keys, e.Key)
	}
	for n := range rows / 2 { // written again at another instant of the same millisecond
		l := license(n)
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
			found, err := r.Licenses(b.ctx, store.LicenseQuery{Order: store.ByExpiresAt, Expires: in, Limit: many})
			b.equal(err, nil, "Licenses %s", how)
			b.equal(len(found), want, "licenses of one millisecond with Expires=%v, %s", in, how)
			kept, err := r.Entries(b.ctx, store.EntryQuery{Kind: "kind", Order: store.ByExpiry, Expires: in, Limit: many})
			b.equal(err, nil, "Entries %s", how)
			b.equal(len(kept), want, "entries of one millisecond with Expires=%v, %s", in, how)
		}
	})
	b.update(func(tx store.Tx) error {
		for n := range rows {
			if err := remove(b.ctx, tx, license(n)); err != nil {
				return err
			}
		}
		return nil
	})
	left, err := b.Licenses(b.ctx, store.LicenseQuery{Order: store.ByExpiresAt, Limit: many})
	b.equal(err, nil, "Licenses")
	b.equal(len(left), 0, "licenses by ExpiresAt after all were deleted")
	return b.found()
}
