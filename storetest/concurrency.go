package storetest

import (
	"runtime"
	"slices"
	"sync/atomic"

	"github.com/seed-d8a106b4/licensekit/store"
)

func concurrencyCases() []testCase {
	return []testCase{
		{"Concurrency", "WriteSkew", 5, writeSkew},
		{"Concurrency", "UniqueValues", 5, uniqueValues},
		{"Concurrency", "NoSeatWithoutItsLicense", 5, noSeatWithoutItsLicense},
		{"Concurrency", "FeedBehindALateCommit", 20, feedBehindALateCommit},
		{"Concurrency", "FeedFollowed", 20, feedFollowed},
		{"Concurrency", "PanicAmongOthers", 17, panicAmongOthers},
		{"Concurrency", "FailureAmongOthers", 4, failureAmongOthers},
	}
}

// crowd is how many goroutines compete.
const crowd = 8

// writeSkew has two entries of which at least one must stay on. Each Update reads
// both and writes only its own.
func writeSkew(b *bench) {
	for round := range 2 {
		kind := word("duty", round)
		b.add(entry(kind, 0), entry(kind, 1))
		meet := newMeeting(2)
		b.together(2, func(i int) {
			b.update(func(tx store.Tx) error {
				on := 0
				for n := range 2 {
					e, err := tx.Entry(b.ctx, kind, entry(kind, n).Key)
					if err != nil {
						return err
					}
					if e.Owner != "off" {
						on++
					}
				}
				meet.wait()
				if on < 2 {
					return nil
				}
				e := entry(kind, i)
				e.Owner = "off"
				return tx.PutEntries(b.ctx, e)
			})
		})
		off, err := b.Entries(b.ctx, store.EntryQuery{Kind: kind, Order: store.ByExpiry, Owner: "off", Limit: many})
		b.ok(err, "Entries")
		b.equal(len(off), 1, "entries switched off by two Updates, each of which leaves one on")
	}
}

// uniqueValues writes records with one key, and with one fingerprint, from many
// goroutines, none of which looks first.
func uniqueValues(b *bench) {
	b.add(license(100))
	for what, row := range map[string]func(n int) any{
		"licenses with one key":            func(n int) any { l := license(n); l.Key = "key"; return l },
		"activations with one fingerprint": func(n int) any { a := activation(license(100).ID, n); a.Fingerprint = "print"; return a },
	} {
		var written atomic.Int32
		meet := newMeeting(crowd)
		b.together(crowd, func(i int) {
			err := b.try(func(tx store.Tx) error {
				meet.wait()
				return put(b.ctx, tx, row(i))
			})
			if err == nil {
				written.Add(1)
			} else {
				b.under(14).is(err, store.ErrExists, "writing one of %d %s", crowd, what)
			}
		})
		b.equal(written.Load(), int32(1), "Updates that wrote, of %d that write %s", crowd, what)
	}
}

// noSeatWithoutItsLicense deletes a license while another goroutine puts an
// activation of it.
func noSeatWithoutItsLicense(b *bench) {
	for n := range 2 {
		id, taken := license(n).ID, 0
		b.add(license(n))
		meet := newMeeting(2)
		b.together(2, func(i int) {
			err := b.try(func(tx store.Tx) error {
				if i == 0 {
					meet.wait()
					return tx.DeleteLicense(b.ctx, id)
				}
				if _, err := tx.License(b.ctx, id); err != nil {
					return err
				}
				meet.wait()
				return tx.PutActivations(b.ctx, activation(id, 1))
			})
			if err != nil {
				b.under(14).is(err, store.ErrNotFound, "putting an activation while its license is deleted")
			} else if i == 1 {
				taken = 1
			}
		})
		rows, err := b.Activations(b.ctx, store.ActivationQuery{LicenseID: id, Limit: many})
		b.ok(err, "Activations")
		broken := b
		if len(rows) < taken { // the deletion came second and must have left it
			broken = b.under(19)
		}
		broken.equal(len(rows), taken, "activations of a concurrently deleted license")
	}
}

// panicAmongOthers makes every other Update panic or end its goroutine.
func panicAmongOthers(b *bench) {
	meet := newMeeting(crowd)
	done := b.start(func() {
		b.together(crowd, func(i int) {
			defer func() { _ = recover() }()
			write := func(tx store.Tx) error {
				if err := tx.PutEntries(b.ctx, entry("kind", i)); err != nil {
					return err
				}
				meet.wait()
				switch i % 4 {
				case 1:
					panic("on purpose")
				case 3:
					runtime.Goexit()
				}
				return nil
			}
			if i%2 == 0 {
				b.update(write)
			} else {
				_ = b.Update(b.ctx, write)
			}
		})
	})
	if !b.answers(done) {
		b.stop("not ended", "an end", "Updates running beside others that panic")
	}
	b.others()
}

// failureAmongOthers makes every other Update fail.
func failureAmongOthers(b *bench) {
	meet := newMeeting(crowd)
	b.together(crowd, func(i int) {
		write := func(tx store.Tx) error {
			if err := tx.PutEntries(b.ctx, entry("kind", i)); err != nil {
				return err
			}
			meet.wait()
			return nil
		}
		if i%2 == 0 {
			b.update(write)
		} else {
			b.is(b.undo(write), errOnPurpose, "Update whose function failed")
		}
	})
	b.others()
}

// others checks that every other Update of a crowd wrote its entry.
func (b *bench) others() {
	rows, err := b.Entries(b.ctx, store.EntryQuery{Kind: "kind", Limit: many})
	b.ok(err, "Entries")
	got := slices.Sorted(slices.Values(entryKeys(rows)))
	var want []string
	for i := 0; i < crowd; i += 2 {
		want = append(want, entry("kind", i).Key)
	}
	b.equal(got, want, "entries, after every other Update was undone")
}
