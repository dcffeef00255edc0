package storetest

import (
	"errors"
	"fmt"
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
		{"Concurrency", "TallyIncrement", 5, tallyIncrement},
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

// writeSkew has two of which at least one must stay on duty. Each Update reads
// both and writes only its own.
func writeSkew(b *bench) {
	for round := range 2 {
		kind := word("duty", round)
		b.add(entry(kind, 0), entry(kind, 1))
		meet := newMeeting(2)
		together(2, func(i int) {
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
				return tx.PutEntry(b.ctx, e)
			})
		})
		off, err := b.Entries(b.ctx, store.EntryQuery{Kind: kind, Owner: "off", Limit: many})
		b.ok(err, "Entries")
		b.equal(len(off), 1, "entries switched off by two Updates, each of which leaves one on")
	}
}

// An admission lets a few of many in: each Update looks how many are in, and
// goes in if there is room. It differs by how it looks.
type admission struct {
	name  string
	room  int
	needs []any
	// taken returns how many are in, for the i-th who asks.
	taken func(b *bench, r store.Reader, i int) (int, error)
	// enter goes in.
	enter func(b *bench, tx store.Tx, i int) error
}

// miss counts what a get finds: one or none.
func miss(err error) (int, error) {
	if errors.Is(err, store.ErrNotFound) {
		return 0, nil
	}
	return 1, err
}

var admissions = []admission{
	{
		name: "CountThenInsert", room: 3, needs: []any{license(1)},
		taken: func(b *bench, r store.Reader, _ int) (int, error) {
			return r.CountActivations(b.ctx, store.ActivationQuery{LicenseID: license(1).ID})
		},
		enter: func(b *bench, tx store.Tx, i int) error {
			return tx.PutActivation(b.ctx, activation(license(1).ID, i))
		},
	},
	{
		name: "ListThenInsert", room: 3,
		taken: func(b *bench, r store.Reader, _ int) (int, error) {
			rows, err := r.Licenses(b.ctx, store.LicenseQuery{CustomerID: "customer", Limit: many})
			return len(rows), err
		},
		enter: func(b *bench, tx store.Tx, i int) error {
			l := license(i)
			l.CustomerID = "customer"
			return tx.CreateLicense(b.ctx, l)
		},
	},
	{
		name: "ListEntriesThenInsert", room: 2,
		taken: func(b *bench, r store.Reader, _ int) (int, error) {
			rows, err := r.Entries(b.ctx, store.EntryQuery{Kind: "kind", Limit: many})
			return len(rows), err
		},
		enter: func(b *bench, tx store.Tx, i int) error { return tx.PutEntry(b.ctx, entry("kind", i)) },
	},
	{
		name: "ListDeliveriesThenInsert", room: 2,
		taken: func(b *bench, r store.Reader, _ int) (int, error) {
			rows, err := r.Deliveries(b.ctx, store.DeliveryQuery{EndpointID: "endpoint", Limit: many})
			return len(rows), err
		},
		enter: func(b *bench, tx store.Tx, i int) error {
			d := delivery(i)
			d.EndpointID = "endpoint"
			return tx.PutDelivery(b.ctx, d)
		},
	},
	{
		name: "ListTalliesThenInsert", room: 2,
		taken: func(b *bench, r store.Reader, _ int) (int, error) {
			rows, err := r.Tallies(b.ctx, store.TallyQuery{Kind: "kind", Limit: many})
			return len(rows), err
		},
		enter: func(b *bench, tx store.Tx, i int) error { return tx.AddTally(b.ctx, "kind", word("name", i), 1) },
	},
	{
		name: "ListEventsThenAppend", room: 1,
		taken: func(b *bench, r store.Reader, _ int) (int, error) {
			rows, err := r.Events(b.ctx, store.EventQuery{Subject: "subject", Limit: many})
			return len(rows), err
		},
		enter: func(b *bench, tx store.Tx, i int) error {
			e := event(i)
			e.Subject = "subject"
			_, err := tx.AppendEvent(b.ctx, e)
			return err
		},
	},
	{
		name: "MissThenInsert", room: 1,
		taken: func(b *bench, r store.Reader, _ int) (int, error) {
			_, err := r.Entry(b.ctx, "kind", "key")
			return miss(err)
		},
		enter: func(b *bench, tx store.Tx, i int) error {
			e := entry("kind", i)
			e.Key = "key"
			return tx.PutEntry(b.ctx, e)
		},
	},
	{
		name: "MissOfAKeyThenInsertElsewhere", room: 1,
		taken: func(b *bench, r store.Reader, _ int) (int, error) {
			_, err := r.LicenseByKey(b.ctx, license(0).Key)
			return miss(err)
		},
		enter: func(b *bench, tx store.Tx, i int) error {
			l := license(i)
			l.Key = license(0).Key
			return tx.CreateLicense(b.ctx, l)
		},
	},
	{
		name: "MissOfAFingerprintThenInsert", room: 1, needs: []any{license(1)},
		taken: func(b *bench, r store.Reader, _ int) (int, error) {
			_, err := r.Activation(b.ctx, license(1).ID, "print")
			return miss(err)
		},
		enter: func(b *bench, tx store.Tx, i int) error {
			a := activation(license(1).ID, i)
			a.Fingerprint = "print"
			return tx.PutActivation(b.ctx, a)
		},
	},
	{
		// Each looks at one thing and writes another: two in a ring of
		// misses, of whom only one may go on.
		name: "MissThenInsertWhatTheOtherMissed", room: 1,
		taken: func(b *bench, r store.Reader, i int) (int, error) {
			_, err := r.Delivery(b.ctx, delivery(1-i%2).ID)
			n, err := miss(err)
			if i > 1 {
				n = 1 // has no part in it
			}
			return n, err
		},
		enter: func(b *bench, tx store.Tx, i int) error { return tx.PutDelivery(b.ctx, delivery(i)) },
	},
}

func (a admission) run(b *bench) {
	b.add(a.needs...)
	meet := newMeeting(crowd)
	var entered [crowd]bool
	together(crowd, func(i int) {
		b.update(func(tx store.Tx) error {
			entered[i] = false
			taken, err := a.taken(b, tx, i)
			if err != nil {
				return err
			}
			meet.wait()
			if taken >= a.room {
				return nil
			}
			entered[i] = true
			return a.enter(b, tx, i)
		})
	})
	in := 0
	for _, e := range entered {
		if e {
			in++
		}
	}
	b.equal(in, a.room, "goroutines, of %d, that were let in", crowd)
}

// increment reads a number and writes the next one.
func increment(b *bench) {
	const rounds = 5
	zero := entry("kind", 1)
	zero.Owner = "0"
	b.add(zero)
	meet := newMeeting(crowd)
	together(crowd, func(int) {
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
				return tx.PutEntry(b.ctx, e)
			})
		}
	})
	e, err := b.Entry(b.ctx, zero.Kind, zero.Key)
	b.ok(err, "Entry")
	b.equal(e.Owner, strconv.Itoa(crowd*rounds), "a number that %d Updates each raised by one", crowd*rounds)
}

// tallyIncrement adds to one tally from many goroutines.
func tallyIncrement(b *bench) {
	const rounds = 5
	meet := newMeeting(crowd)
	together(crowd, func(i int) {
		for range rounds {
			b.update(func(tx store.Tx) error {
				meet.wait()
				return tx.AddTally(b.ctx, "kind", "name", int64(i+1))
			})
		}
	})
	b.equal(b.standings(b, "kind"), map[string]int64{"name": rounds * crowd * (crowd + 1) / 2}, "a tally added to by %d Updates", crowd*rounds)
}

// uniqueKey creates licences with one key from many goroutines.
func uniqueKey(b *bench) {
	var created atomic.Int32
	meet := newMeeting(crowd)
	together(crowd, func(i int) {
		l := license(i)
		l.Key = "key"
		err := b.try(func(tx store.Tx) error {
			meet.wait()
			return tx.CreateLicense(b.ctx, l)
		})
		if err == nil {
			created.Add(1)
		} else {
			b.under(14).is(err, store.ErrExists, "creating a licence with a key that another Update took")
		}
	})
	b.equal(created.Load(), int32(1), "licences created with one key")
	rows, err := b.Licenses(b.ctx, store.LicenseQuery{Limit: many})
	b.ok(err, "Licenses")
	b.equal(len(rows), 1, "licences with one key")
}

// uniqueFingerprint puts activations with one fingerprint from many
// goroutines.
func uniqueFingerprint(b *bench) {
	b.add(license(1))
	meet := newMeeting(crowd)
	together(crowd, func(i int) {
		a := activation(license(1).ID, i)
		a.Fingerprint = "print"
		err := b.try(func(tx store.Tx) error {
			meet.wait()
			return tx.PutActivation(b.ctx, a)
		})
		if err != nil {
			b.under(14).is(err, store.ErrExists, "putting an activation with a fingerprint that another Update took")
		}
	})
	n, err := b.CountActivations(b.ctx, store.ActivationQuery{LicenseID: license(1).ID, Limit: many})
	b.ok(err, "CountActivations")
	b.equal(n, 1, "activations with one fingerprint")
}

// noSeatWithoutItsLicense deletes a licence while another goroutine puts an
// activation of it.
func noSeatWithoutItsLicense(b *bench) {
	for n := range 2 {
		id := license(n).ID
		b.add(license(n))
		meet := newMeeting(2)
		together(2, func(i int) {
			err := b.try(func(tx store.Tx) error {
				if i == 0 {
					meet.wait()
					return tx.DeleteLicense(b.ctx, id)
				}
				if _, err := tx.License(b.ctx, id); err != nil {
					return err
				}
				meet.wait()
				return tx.PutActivation(b.ctx, activation(id, 1))
			})
			if err != nil {
				b.under(14).is(err, store.ErrNotFound, "putting an activation while its licence is deleted")
			}
		})
		n, err := b.CountActivations(b.ctx, store.ActivationQuery{LicenseID: id, Limit: many})
		b.ok(err, "CountActivations")
		b.equal(n, 0, "activations of a licence that was deleted meanwhile")
	}
}

// claim hands out deliveries that are due: each moves on when it is taken.
func claim(b *bench) {
	const due = 20
	var rows []any
	for n := range due {
		d := delivery(n)
		d.DueAt = day(1)
		rows = append(rows, d)
	}
	b.add(rows...)
	var mu sync.Mutex
	var claimed []string
	meet := newMeeting(crowd)
	together(crowd, func(i int) {
		for range due {
			var mine []string
			b.update(func(tx store.Tx) error {
				mine = nil
				rows, err := tx.Deliveries(b.ctx, store.DeliveryQuery{DueBefore: day(2), Limit: 3})
				if err != nil {
					return err
				}
				meet.wait()
				for _, d := range rows {
					d.DueAt = day(3)
					if err := tx.PutDelivery(b.ctx, d); err != nil {
						return err
					}
					mine = append(mine, d.ID)
				}
				return nil
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
		want = append(want, delivery(n).ID)
	}
	b.equal(claimed, want, "deliveries claimed")
}

// A follower reads the feed on from where it stopped.
type follower struct {
	b     *bench
	after int64
	ids   []string
}

// read reads to the end in pages, and notes a Seq at or below the last.
func (f *follower) read() {
	for {
		page := f.b.feed(store.EventQuery{After: f.after, Limit: 3})
		if len(page) == 0 {
			return
		}
		for _, e := range page {
			if e.Seq <= f.after {
				f.b.stop(e.Seq, fmt.Sprintf("above %d", f.after), "Seq in a list that goes on behind it")
			}
			f.after = e.Seq
			f.ids = append(f.ids, e.ID)
		}
	}
}

// feedBehindALateCommit lets an Update append an event, and commit only after
// another one appended and committed, and a reader read. Where Updates take
// turns from their first write on, the other cannot, and the window passes.
func feedBehindALateCommit(b *bench) {
	var want []string
	f := &follower{b: b}
	for n := range 2 {
		early, late := event(2*n), event(2*n+1)
		want = append(want, early.ID, late.ID)
		appended := make(chan struct{})
		var once sync.Once
		meet := newMeeting(1) // the late one waits for the reader
		together(2, func(i int) {
			if i == 0 {
				b.update(func(tx store.Tx) error {
					_, err := tx.AppendEvent(b.ctx, early)
					once.Do(func() { close(appended) })
					meet.hold()
					return err
				})
				return
			}
			<-appended
			b.append(late)
			f.read()
			meet.arrive()
		})
		f.read()
	}
	got := slices.Sorted(slices.Values(f.ids))
	slices.Sort(want)
	b.equal(got, want, "events that a reader saw who read on from the last Seq it was given")
}

// feedFollowed has many Updates append while a reader follows.
func feedFollowed(b *bench) {
	const updates, each = 12, 3
	var writers sync.WaitGroup
	writers.Add(crowd)
	f := &follower{b: b}
	together(crowd+1, func(i int) {
		if i == crowd {
			done := make(chan struct{})
			go func() {
				writers.Wait()
				close(done)
			}()
			for {
				f.read()
				select {
				case <-done:
					f.read()
					return
				default:
					runtime.Gosched()
				}
			}
		}
		defer writers.Done()
		for u := range updates {
			b.update(func(tx store.Tx) error {
				for n := range each {
					if _, err := tx.AppendEvent(b.ctx, event((i*updates+u)*each+n)); err != nil {
						return err
					}
					for range (i + u + n) % 4 * 5 { // some return sooner than others
						runtime.Gosched()
					}
				}
				return nil
			})
		}
	})
	seen := map[string]int{}
	for place, id := range f.ids {
		if first, again := seen[id]; again {
			b.stop(fmt.Sprintf("%s at %d and at %d", id, first, place), "each event once", "events that a follower saw")
		}
		seen[id] = place
	}
	b.equal(len(f.ids), crowd*updates*each, "events that a follower saw")
	for n := range crowd * updates {
		for i := range each - 1 {
			one, two := event(n*each+i).ID, event(n*each+i+1).ID
			if seen[one] > seen[two] {
				b.fail(two+" before "+one, "the order in which the Update appended them", "events that a follower saw")
			}
		}
	}
}

// panicAmongOthers has every other Update panic or end its goroutine.
func panicAmongOthers(b *bench) {
	meet := newMeeting(crowd)
	done := make(chan struct{})
	go func() {
		defer close(done)
		together(crowd, func(i int) {
			defer func() { _ = recover() }()
			write := func(tx store.Tx) error {
				if err := tx.PutEntry(b.ctx, entry("kind", i)); err != nil {
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
	}()
	if !b.answers(done) {
		b.stop("none", "an end", "Updates among others that panic")
	}
	b.others()
}

// failureAmongOthers has every other Update fail.
func failureAmongOthers(b *bench) {
	meet := newMeeting(crowd)
	together(crowd, func(i int) {
		write := func(tx store.Tx) error {
			if err := tx.PutEntry(b.ctx, entry("kind", i)); err != nil {
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

// others looks that every other Update of a crowd left its entry.
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
