package storetest

import (
	"errors"
	"fmt"
	"math"

	"github.com/seed-d8a106b4/licensekit/store"
)

func updateCases() []testCase {
	return []testCase{
		{"Updates", "ReadYourWrites", 2, readYourWrites},
		{"Updates", "ReadYourWritesAfterMisses", 2, readYourWritesAfterMisses},
		{"Updates", "ReadYourWritesElsewhere", 2, readYourWritesElsewhere},
		{"Updates", "OwnWrites", 3, ownWrites},
		{"Updates", "OwnWritesToTheFeed", 3, ownWritesToTheFeed},
		{"Updates", "Rollback", 4, rollback},
		{"Updates", "RollbackOfDeletion", 4, rollbackOfDeletion},
		{"Updates", "RollbackFreesWhatWasTaken", 4, rollbackFrees},
		{"Updates", "ErrorComesBack", 4, errorComesBack},
		{"Updates", "NotSeenBeforeItsEnd", 4, notSeenBeforeItsEnd},
		{"Updates", "Sentinels", 14, sentinels},
		{"Updates", "SentinelsDoNothing", 14, sentinelsDoNothing},
		{"Updates", "UsableAfterSentinels", 15, usableAfterSentinels},
		{"Updates", "OverAfterSuccess", 16, overAfterSuccess},
		{"Updates", "OverAfterFailure", 16, overAfterFailure},
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

// readYourWrites reads immediately after each Update.
func readYourWrites(b *bench) {
	for n := 1; n <= 3; n++ {
		b.write(n)
		b.sees(b.Store, n, n, "on the store, after version %d was written", n)
	}
	b.update(func(tx store.Tx) error { return erase(b.ctx, tx, 3) })
	b.sees(b.Store, 0, 3, "on the store, after everything except the events was deleted")
}

// readYourWritesAfterMisses reads before anything is written, in every way.
func readYourWritesAfterMisses(b *bench) {
	for n := range 3 {
		if n > 0 {
			b.write(n)
		}
		b.readers(func(how string, r store.Reader) {
			b.sees(r, n, n, "%s, at version %d", how, n)
		})
	}
}

// readYourWritesElsewhere reads from another goroutine.
func readYourWritesElsewhere(b *bench) {
	for n := 1; n <= 3; n++ {
		b.write(n)
		b.together(1, func(int) { b.sees(b.Store, n, n, "from another goroutine, after version %d was written", n) })
	}
}

// ownWrites reads after each write within an Update.
func ownWrites(b *bench) {
	var looks [5][]sighting
	writes := func(first, last int) {
		b.update(func(tx store.Tx) (err error) {
			for n := first; n <= last; n++ {
				if err := write(b.ctx, tx, n); err != nil {
					return err
				}
				if looks[n], err = look(b.ctx, tx); err != nil {
					return err
				}
			}
			return nil
		})
		for n := first; n <= last; n++ {
			b.compare(looks[n], n, n, "in the Update that wrote version %d", n)
		}
	}
	writes(1, 3) // on nothing
	writes(4, 4) // on what was committed
	b.update(func(tx store.Tx) (err error) {
		if err := erase(b.ctx, tx, 4); err != nil {
			return err
		}
		looks[0], err = look(b.ctx, tx)
		return err
	})
	b.compare(looks[0], 0, 4, "in the Update that deleted everything except the events")
}

// ownWritesToTheFeed reads after replacing and removing events in an Update.
func ownWritesToTheFeed(b *bench) {
	b.append(event(1), event(2))
	seqs := b.seqs()
	var changed, left []store.Event
	b.update(func(tx store.Tx) (err error) {
		e := event(3)
		e.Seq = seqs[0]
		if err := tx.ReplaceEvent(b.ctx, e); err != nil {
			return err
		}
		if changed, err = tx.Events(b.ctx, store.EventQuery{Limit: many}); err != nil {
			return err
		}
		if _, err := tx.DeleteEvents(b.ctx, math.MaxInt64, many); err != nil {
			return err
		}
		left, err = tx.Events(b.ctx, store.EventQuery{Limit: many})
		return err
	})
	var seen []string
	for _, e := range changed {
		if e.Seq == seqs[0] {
			seen = append(seen, string(e.Data), e.CustomerID)
		}
	}
	if len(seen) == 0 || seen[0] != string(event(3).Data) && seen[1] != event(3).CustomerID { // one alone is rule 9
		b.fail(seen, []string{string(event(3).Data), event(3).CustomerID}, "event in the Update that replaced it")
	}
	b.equal(eventIDs(left), eventIDs(nil), "events in the Update that removed them")
}

// rollback fails after writing.
func rollback(b *bench) {
	for n := 1; n <= 3; n++ {
		err := b.undo(func(tx store.Tx) error { return write(b.ctx, tx, n) })
		b.is(err, errOnPurpose, "Update whose function failed")
		b.readers(func(how string, r store.Reader) {
			b.sees(r, n-1, n-1, "%s, after the Update to version %d had failed", how, n)
		})
		b.write(n)
	}
}

// rollbackOfDeletion fails after deleting.
func rollbackOfDeletion(b *bench) {
	b.write(1)
	b.write(2)
	err := b.undo(func(tx store.Tx) error {
		if err := erase(b.ctx, tx, 2); err != nil {
			return err
		}
		_, err := tx.DeleteEvents(b.ctx, 1<<62, many)
		return err
	})
	b.is(err, errOnPurpose, "Update whose function failed")
	b.readers(func(how string, r store.Reader) {
		b.sees(r, 2, 2, "%s, after the Update that deleted it had failed", how)
	})
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

// errorComesBack returns several kinds of errors.
func errorComesBack(b *bench) {
	for _, want := range []error{
		errOnPurpose, store.ErrNotFound, store.ErrUnavailable, fmt.Errorf("wrapped: %w", store.ErrExists),
	} {
		b.is(b.Update(b.ctx, func(store.Tx) error { return want }), want, "Update whose function returned %q, having done nothing", want)
		b.is(b.Update(b.ctx, func(tx store.Tx) error {
			if err := write(b.ctx, tx, 1); err != nil {
				return err
			}
			return want
		}), want, "Update whose function returned %q, having written", want)
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
