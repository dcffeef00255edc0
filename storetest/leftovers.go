package storetest

import (
	"slices"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

// leftoverCases check that nothing stale remains in an index after a refused
// call, an undone Update, or the deletion of records.
func leftoverCases() []testCase {
	return []testCase{
		{"Leftovers", "RefusedCallsTakeNothing", 14, refusedCallsTakeNothing},
		{"Leftovers", "UndoOfRepeatedWrites", 4, undoOfRepeatedWrites},
		{"Leftovers", "ActiveActivationsOfADeletedLicense", 19, activeActivationsAreDeleted},
	}
}

// refusedCallsTakeNothing takes the keys and fingerprints that refused calls
// asked for, in the same Update and in the next one.
func refusedCallsTakeNothing(b *bench) {
	one, two := license(1), license(2)
	b.add(one, two, activation(one.ID, 1), activation(one.ID, 2))
	with := func(l store.License, id, key string) store.License {
		l.ID, l.Key = id, key
		return l
	}
	for i, c := range []struct {
		name   string
		want   error
		refuse func(tx store.Tx, word string) error
		take   func(tx store.Tx, word string) error
	}{
		{
			"UpdateLicense of a missing license", store.ErrNotFound,
			func(tx store.Tx, word string) error {
				return tx.UpdateLicense(b.ctx, with(license(3), "missing", word))
			},
			func(tx store.Tx, word string) error {
				return tx.CreateLicenses(b.ctx, with(license(3), "lic_"+word, word))
			},
		},
		{
			"CreateLicenses with an ID that is taken", store.ErrExists,
			func(tx store.Tx, word string) error { return tx.CreateLicenses(b.ctx, with(license(3), one.ID, word)) },
			func(tx store.Tx, word string) error { return tx.UpdateLicense(b.ctx, with(license(3), two.ID, word)) },
		},
		{
			"PutActivations of a missing license", store.ErrNotFound,
			func(tx store.Tx, word string) error {
				a := activation("lic_"+word, 3)
				a.Fingerprint = word
				return tx.PutActivations(b.ctx, a)
			},
			func(tx store.Tx, word string) error {
				if err := tx.CreateLicenses(b.ctx, with(license(3), "lic_"+word, "other_"+word)); err != nil {
					return err
				}
				a := activation("lic_"+word, 4)
				a.Fingerprint = word
				return tx.PutActivations(b.ctx, a)
			},
		},
	} {
		for j, when := range []string{"the same Update", "the next Update"} {
			word := word("refused", 2*i+j)
			var refused, taken error
			err := b.try(func(tx store.Tx) error {
				refused, taken = c.refuse(tx, word), nil
				if j == 0 {
					taken = c.take(tx, word)
				}
				return nil
			})
			b.under(15).equal(err, nil, "Update in which %s was refused", c.name)
			b.is(refused, c.want, "%s", c.name)
			if j == 1 {
				taken = b.try(func(tx store.Tx) error { return c.take(tx, word) })
			}
			b.equal(taken, nil, "taking in %s the value that %s was refused", when, c.name)
		}
	}
	l, err := b.LicenseByKey(b.ctx, word("refused", 1))
	if b.equal(err, nil, "LicenseByKey by a key that was refused and then given to another license") {
		b.equal(l.ID, "lic_"+word("refused", 1), "LicenseByKey by a key that was refused and then given to another license")
	}
}

// undoOfRepeatedWrites writes each record several times in an Update that fails.
// An undo from the first write to the last would restore intermediate values.
func undoOfRepeatedWrites(b *bench) {
	l, gone := license(1), license(2)
	a, e, ended := activation(l.ID, 1), entry("call", 1), entry("call", 2)
	b.add(l, gone, a, e, ended)
	before := b.dump()
	err := b.undo(func(tx store.Tx) error {
		for n := range 3 {
			l, a, e, added := l, a, e, entry("call", 9)
			l.Key, l.CustomerID, l.ExpiresAt = word("between", n), word("between", n), day(100+n)
			a.Fingerprint, a.LeaseEndsAt, a.EndedAt = word("between", n), day(100+n), time.Time{}
			e.Owner, e.ExpiresAt, e.Data = word("between", n), day(100+n), document(n)
			added.Owner = word("between", n)
			if err := tx.UpdateLicense(b.ctx, l); err != nil {
				return err
			}
			for _, row := range []any{a, e, added, ended} {
				if err := put(b.ctx, tx, row); err != nil {
					return err
				}
			}
			for _, row := range []any{gone, ended} {
				if err := remove(b.ctx, tx, row); err != nil {
					return err
				}
			}
			gone := gone
			gone.Key = word("again", n)
			for _, row := range []any{gone, ended} {
				if err := put(b.ctx, tx, row); err != nil {
					return err
				}
			}
		}
		return nil
	})
	b.is(err, errOnPurpose, "Update whose function failed")
	b.same(b.dump(), before, "an Update that wrote every record several times had failed")
	b.readers(func(how string, r store.Reader) {
		for n := range 3 {
			between := word("between", n)
			for _, key := range []string{between, word("again", n)} {
				found, err := r.LicenseByKey(b.ctx, key)
				b.gone(found.ID, err, "LicenseByKey by a key of an undone Update %s", how)
			}
			seat, err := r.Activation(b.ctx, l.ID, between)
			b.gone(seat.ID, err, "Activation by a fingerprint of an undone Update %s", how)
			rows, err := r.Licenses(b.ctx, store.LicenseQuery{CustomerID: between, Limit: many})
			b.equal(err, nil, "Licenses %s", how)
			b.equal(len(rows), 0, "licenses of a customer of an undone Update %s", how)
			owned, err := r.Entries(b.ctx, store.EntryQuery{Kind: "call", Order: store.ByExpiry, Owner: between, Limit: many})
			b.equal(err, nil, "Entries %s", how)
			b.equal(len(owned), 0, "entries of an owner of an undone Update %s", how)
		}
		rows, err := r.Licenses(b.ctx, store.LicenseQuery{Order: store.ByExpiresAt, Limit: many})
		b.equal(err, nil, "Licenses by ExpiresAt %s", how)
		b.equal(licenseIDs(rows), []string{l.ID, gone.ID}, "licenses by ExpiresAt after an undone Update %s", how)
		held, err := r.Activations(b.ctx, store.ActivationQuery{LicenseID: l.ID, LiveAt: day(0), Limit: many})
		b.equal(err, nil, "Activations with LiveAt %s", how)
		held = slices.DeleteFunc(held, func(a store.Activation) bool { return !a.EndedAt.IsZero() }) // listing these breaks rule 11
		b.equal(len(held), 0, "active activations after an undone Update %s", how)
	})
}

// activeActivationsAreDeleted deletes a license and its activations, which are
// active, and looks for them in every list of active activations.
func activeActivationsAreDeleted(b *bench) {
	l := license(1)
	var rows []any
	for n := range 4 {
		a := activation(l.ID, n)
		a.EndedAt, a.LeaseEndsAt = time.Time{}, day(10)
		if n%2 == 0 {
			a.LeaseEndsAt = time.Time{}
		}
		rows = append(rows, a)
	}
	for _, how := range []string{"in two Updates", "in one Update"} {
		b.add(append([]any{l}, rows...)...)
		again := func(tx store.Tx) error {
			for _, row := range rows {
				if err := remove(b.ctx, tx, row); err != nil {
					return err
				}
			}
			return tx.CreateLicenses(b.ctx, l)
		}
		b.update(func(tx store.Tx) error {
			if err := tx.DeleteLicense(b.ctx, l.ID); err != nil || how == "in two Updates" {
				return err
			}
			return again(tx)
		})
		if how == "in two Updates" {
			b.update(again)
		}
		b.noActive(l.ID, "of a license deleted and created again "+how)
		b.update(func(tx store.Tx) error { return tx.DeleteLicense(b.ctx, l.ID) })
	}
	b.add(append([]any{l}, rows...)...)
	for _, row := range rows {
		b.update(func(tx store.Tx) error { return remove(b.ctx, tx, row) })
	}
	b.noActive(l.ID, "after each was deleted")
}

// noActive looks for active activations of a license in every way.
func (b *bench) noActive(licenseID, when string) {
	b.readers(func(how string, r store.Reader) {
		for _, q := range []store.ActivationQuery{
			{LiveAt: day(1)}, {LeaseEnds: store.TimeRange{Before: day(20)}},
			{LeaseEnds: store.TimeRange{Before: day(20), OrNone: true}},
			{LiveAt: day(1), LeaseEnds: store.TimeRange{From: day(1), OrNone: true}},
		} {
			q.LicenseID, q.Limit = licenseID, many
			rows, err := r.Activations(b.ctx, q)
			b.equal(err, nil, "Activations %s", how)
			b.equal(len(rows), 0, "active activations %s, %s, for %+v", when, how, q)
		}
	})
}
