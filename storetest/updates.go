package storetest

import (
	"context"
	"errors"
	"fmt"

	"github.com/seed-d8a106b4/licensekit/store"
)

func updateCases() []testCase {
	return []testCase{
		{"Updates", "ReadYourWrites", 2, readYourWrites},
		{"Updates", "RollbackFreesWhatWasTaken", 4, rollbackFrees},
		{"Updates", "ErrorComesBack", 4, errorComesBack},
		{"Updates", "NotSeenBeforeItsEnd", 4, notSeenBeforeItsEnd},
		{"Updates", "Sentinels", 14, sentinels},
		{"Updates", "SentinelsDoNothing", 14, sentinelsDoNothing},
		{"Updates", "DeletesWhatIsThere", 14, deletesWhatIsThere},
		{"Updates", "UsableAfterSentinels", 15, usableAfterSentinels},
		{"Updates", "Over", 16, overAfterTheEnd},
		{"Updates", "OverInTheNextAttempt", 16, overInTheNextAttempt},
		{"Updates", "Panic", 17, panicUndoes},
		{"Updates", "Goexit", 17, goexitUndoes},
	}
}

// errOnPurpose is returned by functions of Updates that are to be undone.
var errOnPurpose = errors.New("on purpose")

// undo runs fn in an Update that returns errOnPurpose.
func (b *bench) undo(fn func(tx store.Tx) error) error {
	return b.try(func(tx store.Tx) error {
		if err := fn(tx); err != nil {
			return err
		}
		return errOnPurpose
	})
}

// write moves the store to version n from version n-1.
func (b *bench) write(n int) {
	b.update(func(tx store.Tx) error { return write(b.ctx, tx, n) })
}

// readYourWrites reads before anything is written and immediately after each Update, in
// every way and from another goroutine.
func readYourWrites(b *bench) {
	for n := range 4 {
		if n > 0 {
			b.write(n)
		}
		b.sees(b.Store, n, n, "on the store, at version %d", n)
		b.together(1, func(int) { b.sees(b.Store, n, n, "from another goroutine, at version %d", n) })
		b.readers(func(how string, r store.Reader) { b.sees(r, n, n, "%s, at version %d", how, n) })
	}
	b.update(func(tx store.Tx) error { return erase(b.ctx, tx, 3) })
	b.sees(b.Store, 0, 3, "on the store, after everything except the events was deleted")
}

// rollbackFrees takes ids, keys and fingerprints in an Update that fails, and
// then again in another.
func rollbackFrees(b *bench) {
	l := license(1)
	for range 3 {
		err := b.undo(func(tx store.Tx) error {
			return errors.Join(put(b.ctx, tx, l), put(b.ctx, tx, activation(l.ID, 1)))
		})
		b.is(err, errOnPurpose, "Update that takes the same values as a failed one")
	}
	next := license(2)
	next.Key = l.Key
	b.ok(b.tryAdd(next), "creating a license with a key that a failed Update took")
	next = license(1)
	next.Key = "another"
	b.ok(b.tryAdd(next, activation(l.ID, 1)), "creating a license with an ID that a failed Update took")
}

// errorComesBack returns errors of its own that wrap the ones that a store uses. Views
// come last: what follows a View that failed is for rule 27.
func errorComesBack(b *bench) {
	update := func(want error) error {
		return b.Update(b.ctx, func(tx store.Tx) error { return errors.Join(write(b.ctx, tx, 1), want) })
	}
	idle := func(want error) error { return b.Update(b.ctx, func(store.Tx) error { return want }) }
	refused := func(want error) error {
		return b.Update(b.ctx, func(tx store.Tx) error { return errors.Join(tx.DeleteLicense(b.ctx, "missing"), want) })
	}
	view := func(want error) error { return b.View(b.ctx, func(store.Reader) error { return want }) }
	for i, call := range []func(want error) error{update, idle, refused, view} {
		for _, sentinel := range []error{
			errOnPurpose, store.ErrNotFound, store.ErrExists, store.ErrConflict, store.ErrUnavailable, store.ErrFull, store.ErrDamaged, store.ErrUnknownOutcome, store.ErrTxDone, context.Canceled,
		} {
			want := fmt.Errorf("%w: %w", errOnPurpose, sentinel)
			got := call(want)
			b.is(got, errOnPurpose, "call %d of three Updates and a View whose function returned %q", i, want)
			b.is(got, sentinel, "call %d of three Updates and a View whose function returned %q", i, want)
			b.under(29).equal(errors.Is(got, store.ErrUnknownOutcome), sentinel == store.ErrUnknownOutcome, "call %d of three Updates and a View, whose function returned %q, returned ErrUnknownOutcome", i, want)
		}
	}
}

// notSeenBeforeItsEnd reads on other goroutines while an Update is writing. If
// readers have to wait for it, they wait until it has failed.
func notSeenBeforeItsEnd(b *bench) {
	for n := 1; n <= 2; n++ {
		var seen [2][]sighting
		var failed [2]error
		var read <-chan struct{}
		err := b.undo(func(tx store.Tx) error {
			if err := write(b.ctx, tx, n); err != nil || read != nil {
				return err
			}
			read = b.start(func() {
				seen[0], failed[0] = look(b.ctx, b.Store)
				failed[1] = b.View(b.ctx, func(r store.Reader) (err error) {
					seen[1], err = look(b.ctx, r)
					return err
				})
			})
			windowOr(read)
			return nil
		})
		if !b.is(err, errOnPurpose, "Update whose function failed") && read == nil {
			return
		}
		<-read
		for i, where := range []string{"on the store", "in a View"} {
			if n == 1 {
				b.under(14).ok(failed[i], "reading %s", where)
			}
			b.ok(failed[i], "reading %s", where)
			b.compare(seen[i], n-1, n-1, "%s, while an Update was writing version %d", where, n)
		}
		b.write(n)
	}
}
