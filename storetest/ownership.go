package storetest

import (
	"errors"
	"reflect"
	"slices"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

// passed changes its arguments after passing them, in the Update and after it.
func (k kind[R]) passed(b *bench) {
	b.add(k.needs...)
	early, late := k.plain(1), k.plain(2)
	var passed R
	b.update(func(tx store.Tx) error {
		row := k.plain(1)
		if err := put(b.ctx, tx, row); err != nil {
			return err
		}
		scribble(&row)
		passed = k.plain(2)
		return put(b.ctx, tx, passed)
	})
	scribble(&passed)
	k.unscathed(b, early, "after changing what was passed, within the Update")
	k.unscathed(b, late, "after changing what was passed, when the Update had returned")

	next := k.plain(3)
	carry(&next, early, slices.Concat(k.identity, k.kept))
	b.update(func(tx store.Tx) error {
		row := copied(next)
		if err := k.replace(b.ctx, tx, early, row); err != nil {
			return err
		}
		scribble(&row)
		return nil
	})
	k.unscathed(b, next, "after changing what was passed as a replacement")
}

// returned changes the results of every way to read.
func (k kind[R]) returned(b *bench) {
	b.add(k.needs...)
	rows := []R{k.plain(1), k.plain(2)}
	b.add(rows[0], rows[1])
	for _, way := range k.reads {
		b.readers(func(how string, r store.Reader) { // a new one each time: it may keep what it has read first
			found, err := way.rows(b.ctx, r, rows[0])
			if err != nil {
				return
			}
			for i := range found {
				scribble(&found[i])
				for _, later := range found[i+1:] { // they may share memory
					k.intact(b, later, rows, "after changing its neighbor in the result of %s %s", way.name, how)
				}
			}
			for _, again := range k.reads {
				if got, ok, err := k.find(b.ctx, r, again, rows[0]); err == nil && ok {
					k.intact(b, got, rows, "of %s %s, after changing what %s returned", again.name, how, way.name)
				}
			}
		})
	}
	for _, row := range rows {
		k.unscathed(b, row, "after changing what was returned")
	}
}

// unscathed reads want in every way and compares its slices.
func (k kind[R]) unscathed(b *bench, want R, when string) {
	b.readers(func(how string, r store.Reader) {
		for _, way := range k.reads {
			if got, ok, err := k.find(b.ctx, r, way, want); err == nil && ok {
				k.intact(b, got, []R{want}, "of %s %s, %s", way.name, how, when)
			}
		}
	})
}

// intact compares the slices of a record with the expected ones.
func (k kind[R]) intact(b *bench, got R, rows []R, what string, args ...any) {
	for _, want := range rows {
		if !k.same(got, want) {
			continue
		}
		for _, f := range differences(got, want, k.fixed) {
			if f.typ.Kind() == reflect.Slice {
				b.fail(f.got, f.want, "%s "+what, append([]any{f.name}, args...)...)
			}
		}
	}
}

// stays passes a slice with spare capacity, and checks that the call has written
// neither to it nor to its spare capacity.
func stays[E any](b *bench, what string, list []E, call func(list []E)) {
	own := func() []E {
		whole := slices.Concat(list, list)
		for i := range whole {
			if reflect.TypeFor[E]().Kind() == reflect.Struct {
				whole[i] = copied(whole[i])
			}
		}
		return whole
	}
	passed := own()
	call(passed[:len(list)])
	b.equal(passed, own(), "the argument of %s, with its spare capacity", what)
}

// argumentsStay passes slices that are not sorted, and records with times that a
// store does not keep.
func argumentsStay(b *bench) {
	id := license(5).ID
	var licenses []store.License
	var seats []store.Activation
	var events []store.Event
	var entries []store.Entry
	var ids, keys, seatIDs []string
	for _, n := range []int{5, 3, 4} {
		l, a, ev, e := license(n), activation(id, n), event(n), entry("call", n)
		for _, t := range []*time.Time{&l.StartsAt, &l.ExpiresAt, &a.LeaseEndsAt, &a.EndedAt, &ev.Time, &e.ExpiresAt, &e.CreatedAt} {
			*t = t.In(elsewhere).Add(time.Microsecond)
		}
		licenses, seats, events, entries = append(licenses, l), append(seats, a), append(events, ev), append(entries, e)
		ids, keys, seatIDs = append(ids, l.ID), append(keys, e.Key), append(seatIDs, a.ID)
	}
	write := func(tx store.Tx) (err error) {
		note := func(failed error) { err = errors.Join(err, failed) }
		stays(b, "CreateLicenses", licenses, func(rows []store.License) { note(tx.CreateLicenses(b.ctx, rows...)) })
		stays(b, "UpdateLicense", licenses[:1], func(rows []store.License) { note(tx.UpdateLicense(b.ctx, rows[0])) })
		stays(b, "PutActivations", seats, func(rows []store.Activation) { note(tx.PutActivations(b.ctx, rows...)) })
		stays(b, "AppendEvents", events, func(rows []store.Event) {
			err := tx.AppendEvents(b.ctx, rows...)
			note(err)
		})
		stays(b, "PutEntries", append(entries, entries[0]), func(rows []store.Entry) { note(tx.PutEntries(b.ctx, rows...)) })
		return err
	}
	b.update(write)
	b.readers(func(how string, r store.Reader) {
		stays(b, "Licenses "+how, append(ids, ids...), func(ids []string) {
			_, err := r.Licenses(b.ctx, store.LicenseQuery{IDs: ids, Descending: true, Limit: many})
			b.equal(err, nil, "Licenses %s", how)
		})
		stays(b, "Entries "+how, append(keys, keys...), func(keys []string) {
			_, err := r.Entries(b.ctx, store.EntryQuery{Kind: "call", Keys: keys, Limit: many})
			b.equal(err, nil, "Entries %s", how)
		})
		stays(b, "FindLicenses "+how, []string{"text", "0003", "ext"}, func(text []string) {
			_, _, err := r.FindLicenses(b.ctx, store.LicenseQuery{Text: text, Limit: many})
			b.equal(err, nil, "FindLicenses %s", how)
		})
		stays(b, "CountLicenses "+how, []store.Position{{Time: day(4).Add(time.Microsecond), ID: ids[1]}, {Time: day(5).In(elsewhere)}}, func(edges []store.Position) {
			_, err := r.CountLicenses(b.ctx, store.LicenseQuery{Order: store.ByStartsAt}, edges...)
			b.equal(err, nil, "CountLicenses %s", how)
		})
	})
	b.update(func(tx store.Tx) (err error) {
		stays(b, "DeleteActivations", seatIDs, func(ids []string) { err = tx.DeleteActivations(b.ctx, id, ids...) })
		stays(b, "DeleteEntries", keys, func(keys []string) { err = errors.Join(err, tx.DeleteEntries(b.ctx, "call", keys...)) })
		return err
	})
}
