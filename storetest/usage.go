package storetest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

// usageCases check what callers of a store may rely on.
func usageCases() []testCase {
	return []testCase{
		{"Usage", "EmptyValues", 25, emptyValues},
		{"Usage", "EmptyPositions", 25, emptyPositions},
		{"Usage", "SeveralGoroutines", 26, severalGoroutines},
		{"Usage", "Arguments", 13, argumentsStay},
		{"Usage", "UpdateAfterViews", 27, updateAfterViews},
		{"Usage", "UpdateBeforeViews", 27, updateBeforeViews},
		{"Usage", "UpdateBeforeUpdates", 27, updateBeforeUpdates},
		{"Usage", "ContextOfEachCall", 18, contextOfEachCall},
	}
}

// emptyValues reads by empty ids, keys, fingerprints and kinds.
func emptyValues(b *bench) {
	id := license(1).ID
	b.add(license(1), activation(id, 1), entry("call", 1), event(1))
	b.readers(func(how string, r store.Reader) {
		_, err := r.License(b.ctx, "")
		b.is(err, store.ErrNotFound, "License by an empty id %s", how)
		_, err = r.LicenseByKey(b.ctx, "")
		b.is(err, store.ErrNotFound, "LicenseByKey by an empty key %s", how)
		for _, of := range [][2]string{{"", ""}, {id, ""}, {"", activation(id, 1).Fingerprint}} {
			_, err = r.Activation(b.ctx, of[0], of[1])
			b.is(err, store.ErrNotFound, "Activation(%q, %q) %s", of[0], of[1], how)
		}
		for _, of := range [][2]string{{"", ""}, {"call", ""}, {"", entry("", 1).Key}} {
			_, err = r.Entry(b.ctx, of[0], of[1])
			b.is(err, store.ErrNotFound, "Entry(%q, %q) %s", of[0], of[1], how)
		}
		seats, err := r.Activations(b.ctx, store.ActivationQuery{})
		b.equal(err, nil, "Activations of no license %s", how)
		b.equal(len(seats), 0, "Activations of no license %s", how)
	})
}

// emptyPositions starts lists without a position, and with one that has a time
// but no id.
func emptyPositions(b *bench) {
	one := license(1).ID
	for n := range 4 {
		b.add(license(n), event(n))
	}
	for n := range 4 {
		b.add(activation(one, n), entry("empty", n))
	}
	b.readers(func(how string, r store.Reader) {
		for _, descending := range []bool{false, true} {
			for _, q := range []struct {
				store.LicenseQuery
				want int
			}{
				{store.LicenseQuery{}, 4},
				{store.LicenseQuery{After: store.Position{Time: day(2)}}, 4}, // by id, only the id counts
				{store.LicenseQuery{CustomerID: license(1).CustomerID, After: store.Position{Time: day(2)}}, 1},
				{store.LicenseQuery{Order: store.ByExpiresAt}, 4},
				{store.LicenseQuery{Order: store.ByStartsAt}, 4},
				// Before, or after, the two licenses from that instant on.
				{store.LicenseQuery{Order: store.ByExpiresAt, After: store.Position{Time: license(2).ExpiresAt}}, 2},
				{store.LicenseQuery{Order: store.ByStartsAt, After: store.Position{Time: license(2).StartsAt}}, 2},
			} {
				q.Descending, q.Limit = descending, many
				rows, err := r.Licenses(b.ctx, q.LicenseQuery)
				b.equal(err, nil, "Licenses %s", how)
				b.equal(len(rows), q.want, "licenses %s, for %+v", how, q.LicenseQuery)
			}
			events, err := r.Events(b.ctx, store.EventQuery{Descending: descending, Limit: many})
			b.equal(err, nil, "Events %s", how)
			b.equal(len(events), 4, "events with After 0, descending %v, %s", descending, how)
			for _, order := range []store.LicenseOrder{store.ByExpiresAt, store.ByStartsAt} {
				rows, err := r.Licenses(b.ctx, store.LicenseQuery{Order: order, Descending: descending, After: store.Position{ID: license(2).ID}, Limit: many})
				b.equal(err, nil, "Licenses %s", how)
				want := 4 // every time is after none
				if descending {
					want = 0
				}
				b.equal(len(rows), want, "licenses after an ID without a time, in order %d, descending %v, %s", order, descending, how)
			}
			for _, after := range []store.Position{{}, {Time: day(2)}} {
				kept, err := r.Entries(b.ctx, store.EntryQuery{Kind: "empty", After: after, Descending: descending, Limit: many})
				b.equal(err, nil, "Entries %s", how)
				b.equal(len(kept), 4, "entries with After %+v, descending %v, %s", after, descending, how)
			}
		}
		for _, c := range []struct {
			after store.Position
			want  int
		}{{store.Position{Time: day(2)}, 2}, {store.Position{ID: "z"}, 4}} {
			kept, err := r.Entries(b.ctx, store.EntryQuery{Kind: "empty", Order: store.ByExpiry, After: c.after, Limit: many})
			b.equal(err, nil, "Entries %s", how)
			b.equal(len(kept), c.want, "entries by expiry with After %+v %s", c.after, how)
		}
		seats, err := r.Activations(b.ctx, store.ActivationQuery{LicenseID: one, Limit: many})
		b.equal(err, nil, "Activations %s", how)
		b.equal(len(seats), 4, "activations with an empty After %s", how)
	})
}

// elsewhereDo runs fn on another goroutine and waits for it.
func (b *bench) elsewhereDo(fn func() error) (err error) {
	<-b.start(func() { err = fn() })
	return err
}

// severalGoroutines uses a Tx and a Reader from several goroutines, one after
// another.
func severalGoroutines(b *bench) {
	for n := 1; n <= 2; n++ {
		var seen []sighting
		b.update(func(tx store.Tx) error {
			if err := b.elsewhereDo(func() error { return write(b.ctx, tx, n) }); err != nil {
				return err
			}
			return b.elsewhereDo(func() (err error) {
				seen, err = look(b.ctx, tx)
				return err
			})
		})
		b.compare(seen, n, n, "in an Update, from another goroutine")
		b.view(func(r store.Reader) error {
			return b.elsewhereDo(func() (err error) {
				seen, err = look(b.ctx, r)
				return err
			})
		})
		b.compare(seen, n, n, "in a View, from another goroutine")
	}
}

// updateAfterViews runs an Update after Views that ended in every way, and one
// that may have to wait until a View ends.
func updateAfterViews(b *bench) {
	b.write(1)
	n := 1
	update := func(when string) (done <-chan struct{}) {
		n++
		version := n
		return b.start(func() { b.ok(b.try(func(tx store.Tx) error { return write(b.ctx, tx, version) }), "Update %s", when) })
	}
	answers := func(done <-chan struct{}, when string) {
		if !b.answers(done) {
			b.stop("none", "an answer", "Update %s", when)
		}
	}
	_ = b.View(b.ctx, func(store.Reader) error { return errOnPurpose })
	answers(update("after a View that failed"), "after a View that failed")
	_ = b.View(b.ctx, func(r store.Reader) error { return readCalls[0].call(b.ctx, r) })
	answers(update("after a View"), "after a View")

	reading, release := make(chan struct{}), make(chan struct{})
	viewed := b.start(func() {
		_ = b.View(b.ctx, func(r store.Reader) error {
			close(reading)
			<-release
			return readCalls[0].call(b.ctx, r)
		})
	})
	select {
	case <-reading:
	case <-viewed:
		return
	}
	updated := update("that began during a View")
	windowOr(updated)
	close(release)
	answers(updated, "that began during a View, once the View had ended")
	if !b.answers(viewed) {
		b.stop("none", "an answer", "View during which an Update began")
	}
	read := b.start(func() {
		_ = b.View(b.ctx, func(r store.Reader) error { return readCalls[0].call(b.ctx, r) })
		_ = readCalls[0].call(b.ctx, b.Store)
	})
	if !b.answers(read) {
		b.stop("none", "an answer", "View and read after an Update")
	}
}

// updateBeforeViews begins a View while an Update waits for an earlier View, and
// another while the function of an Update runs. Both Views end after the Update.
func updateBeforeViews(b *bench) {
	updated := make(chan struct{})
	view := func(until <-chan struct{}) (begun, ended <-chan struct{}) {
		in := make(chan struct{})
		var once sync.Once
		ended = b.start(func() {
			_ = b.View(b.ctx, func(r store.Reader) error {
				once.Do(func() { close(in) })
				select {
				case <-until:
				case <-b.ctx.Done():
				}
				return nil
			})
		})
		return in, ended
	}
	release := make(chan struct{})
	reading, first := view(release)
	windowOr(reading)
	var later []<-chan struct{}
	update := b.start(func() {
		b.update(func(tx store.Tx) error {
			begun, ended := view(updated)
			windowOr(begun)
			later = append(later, ended)
			return put(b.ctx, tx, entry("kind", 1))
		})
	})
	windowOr(update)
	begun, ended := view(updated)
	windowOr(begun)
	close(release)
	<-first
	if !b.answers(update) {
		b.fail("none", "an answer", "Update that waits only for Views which began later")
	}
	close(updated)
	<-update
	for _, done := range append(later, ended) {
		<-done
	}
}

// updateBeforeUpdates begins Updates while another runs. The function of each waits
// until the Update that began before it has returned. A store that commits several
// Updates together must not let the first wait for the functions of the others.
//
// It says nothing of Twice, whose second run begins after the Updates that
// followed, nor of Handles: between processes, the right to write goes round in
// any order.
func updateBeforeUpdates(b *bench) {
	switch b.Store.(type) {
	case twice, turning:
		return
	}
	for round, end := range []error{nil, errOnPurpose, nil} {
		kind := word("round", round)
		holding, release, free := make(chan struct{}), make(chan struct{}), make(chan struct{})
		var once sync.Once
		var begun [3]atomic.Bool // the functions of the Updates
		done := []<-chan struct{}{b.start(func() {
			err := b.try(func(tx store.Tx) error {
				if err := put(b.ctx, tx, entry(kind, 0)); err != nil {
					return err
				}
				begun[0].Store(true)
				once.Do(func() { close(holding) })
				<-release
				return end
			})
			b.is(err, end, "Update that others wait for")
		})}
		<-holding
		for n := 1; n <= 2; n++ {
			ctx := &watched{Context: b.ctx, waiting: make(chan struct{})}
			before := done[n-1]
			done = append(done, b.start(func() {
				var err error
				for again := true; again; again = errors.Is(err, store.ErrConflict) {
					err = b.Update(ctx, func(tx store.Tx) error {
						if round < 2 { // else it writes only after the wait
							if err := put(b.ctx, tx, entry(kind, n)); err != nil {
								return err
							}
						}
						begun[n].Store(true)
						if begun[n-1].Load() { // else it is not certain which Update began first
							select {
							case <-before:
							case <-free:
							}
						}
						if err := put(b.ctx, tx, entry(kind, n)); err != nil {
							return err
						}
						return put(b.ctx, tx, entry(kind, n+10))
					})
				}
				b.ok(err, "Update whose function waits until an earlier Update has returned")
			}))
			windowOr(ctx.waiting)
		}
		close(release)
		waits := slices.IndexFunc(done, func(one <-chan struct{}) bool { return !b.answers(one) })
		if waits >= 0 {
			b.fail("none", "an answer", "Update before which %d began, and after which %d did, whose functions wait for it", waits, len(done)-1-waits)
		}
		close(free)
		for _, one := range done {
			<-one
		}
		if waits >= 0 {
			return
		}
		rows, err := b.Entries(b.ctx, store.EntryQuery{Kind: kind, Limit: many})
		b.ok(err, "Entries")
		want := []string{entry(kind, 1).Key, entry(kind, 2).Key, entry(kind, 11).Key, entry(kind, 12).Key}
		if end == nil {
			want = slices.Insert(want, 0, entry(kind, 0).Key)
		}
		b.under(4).equal(slices.Sorted(slices.Values(entryKeys(rows))), want, "entries of Updates that waited for each other")
	}
}

// contextOfEachCall ends the context of an Update and of a View in their
// functions, and makes calls with a context that has not ended, and vice versa.
func contextOfEachCall(b *bench) {
	b.write(1)
	ctx, cancel := context.WithTimeout(b.ctx, time.Hour)
	var failed error
	err := b.Update(ctx, func(tx store.Tx) error {
		cancel()
		failed = nil
		if _, err := tx.License(b.ctx, license(1).ID); err != nil {
			failed = err
			return err
		}
		failed = write(b.ctx, tx, 2)
		return failed
	})
	if errors.Is(failed, context.Canceled) {
		b.fail(failed, "no error", "call with a context that had not ended, in an Update whose context had")
	} else if failed == nil {
		b.equal(err, nil, "Update whose context ended in its function, whose calls had another")
	}
	if err != nil { // it had to run again and could not
		b.write(2)
	}

	ctx, cancel = context.WithCancel(b.ctx)
	_ = b.View(ctx, func(r store.Reader) error {
		cancel()
		failed = readCalls[0].call(b.ctx, r)
		return nil
	})
	b.equal(failed, nil, "call with a context that had not ended, in a View whose context had")

	ended, cancel := context.WithCancel(b.ctx)
	cancel()
	err = b.try(func(tx store.Tx) error {
		if err := write(ended, tx, 3); err == nil {
			return errOnPurpose
		}
		return write(b.ctx, tx, 3)
	})
	b.equal(err, nil, "Update that continued after a call whose own context had ended")
	b.sees(b.Store, 3, 3, "on the store, after an Update that continued after a call whose own context had ended")
}
