package storetest

import (
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/seed-d8a106b4/licensekit/store"
)

func concurrencyCases() []testCase {
	list := []testCase{
		{"Concurrency", "WriteSkew", 5, writeSkew},
		{"Concurrency", "Increment", 5, increment},
		{"Concurrency", "UniqueKey", 5, uniqueKey},
		{"Concurrency", "UniqueFingerprint", 5, uniqueFingerprint},
		{"Concurrency", "NoSeatWithoutItsLicense", 5, noSeatWithoutItsLicense},
		{"Concurrency", "Claim", 5, claim},
		{"Concurrency", "FeedBehindALateCommit", 20, feedBehindALateCommit},
		{"Concurrency", "FeedFollowed", 20, feedFollowed},
		{"Concurrency", "PanicAmongOthers", 17, panicAmongOthers},
		{"Concurrency", "FailureAmongOthers", 4, failureAmongOthers},
	}
	for _, a := range admissions {
		list = append(list, testCase{"Concurrency", a.name, 5, a.run})
	}
	return list
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

// increment reads a number and writes the next one.
func increment(b *bench) {
	const rounds = 5
	zero := entry("kind", 1)
	zero.Owner = "0"
	b.add(zero)
	meet := newMeeting(crowd)
	b.together(crowd, func(int) {
		for range rounds {
			b.update(func(tx store.Tx) error {
				e, err := tx.Entry(b.ctx, zero.Kind, zero.Key)
				if err != nil {
					return err
				}
				n, err := strconv.Atoi(e.Owner)
				if err != nil {
					return err
				}
				meet.wait()
				e.Owner = strconv.Itoa(n + 1)
				return tx.PutEntries(b.ctx, e)
			})
		}
	})
	e, err := b.Entry(b.ctx, zero.Kind, zero.Key)
	b.ok(err, "Entry")
	b.equal(e.Owner, strconv.Itoa(crowd*rounds), "a number after %d Updates, each of which increased it by one", crowd*rounds)
}

// uniqueKey creates licenses with one key from many goroutines.
func uniqueKey(b *bench) {
	var created atomic.Int32
	meet := newMeeting(crowd)
	b.together(crowd, func(i int) {
		l := license(i)
		l.Key = "key"
		err := b.try(func(tx store.Tx) error {
			meet.wait()
			return tx.CreateLicenses(b.ctx, l)
		})
		if err == nil {
			created.Add(1)
		} else {
			b.under(14).is(err, store.ErrExists, "creating a license with a key that another Update took")
		}
	})
	b.equal(created.Load(), int32(1), "licenses created with one key")
	rows, err := b.Licenses(b.ctx, store.LicenseQuery{Limit: many})
	b.ok(err, "Licenses")
	b.equal(len(rows), 1, "licenses with one key")
}

// uniqueFingerprint puts activations with one fingerprint from many
// goroutines.
func uniqueFingerprint(b *bench) {
	b.add(license(1))
	meet := newMeeting(crowd)
	b.together(crowd, func(i int) {
		a := activation(license(1).ID, i)
		a.Fingerprint = "print"
		err := b.try(func(tx store.Tx) error {
			meet.wait()
			return tx.PutActivations(b.ctx, a)
		})
		if err != nil {
			b.under(14).is(err, store.ErrExists, "putting an activation with a fingerprint that another Update took")
		}
	})
	rows, err := b.Activations(b.ctx, store.ActivationQuery{LicenseID: license(1).ID, Limit: many})
	b.ok(err, "Activations")
	b.equal(len(rows), 1, "activations with one fingerprint")
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

// claim has goroutines claim scheduled entries: a claim moves the entry to a
// later time.
func claim(b *bench) {
	const due = 20
	var rows []any
	for n := range due {
		e := entry("kind", n)
		e.ExpiresAt = day(1)
		rows = append(rows, e)
	}
	b.add(rows...)
	var mu sync.Mutex
	var claimed []string
	meet := newMeeting(crowd)
	b.together(crowd, func(i int) {
		for range due {
			var mine []string
			b.update(func(tx store.Tx) error {
				mine = nil
				rows, err := tx.Entries(b.ctx, store.EntryQuery{Kind: "kind", Order: store.ByExpiry, Expires: store.TimeRange{Before: day(2)}, Limit: 3})
				if err != nil {
					return err
				}
				meet.wait()
				for i, e := range rows {
					rows[i].ExpiresAt = day(3)
					mine = append(mine, e.Key)
				}
				return tx.PutEntries(b.ctx, rows...)
			})
			if len(mine) == 0 {
				return
			}
			mu.Lock()
			claimed = append(claimed, mine...)
			mu.Unlock()
		}
	})
	slices.Sort(claimed)
	var want []string
	for n := range due {
		want = append(want, word("key", n))
	}
	b.equal(claimed, want, "entries claimed")
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
