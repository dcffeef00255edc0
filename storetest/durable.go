package storetest

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/seed-d8a106b4/licensekit/store"
)

func durableCases() []testCase {
	return []testCase{
		{"Durable", "Reopen", 1, durableReopen},
		{"Durable", "Empty", 1, durableEmpty},
		{"Durable", "Deletions", 1, durableDeletions},
		{"Durable", "FailedUpdates", 1, durableFailed},
		{"Durable", "Records", 1, durableRecords},
		{"Durable", "FeedGoesOn", 20, durableFeed},
		{"Durable", "Closed", 32, durableClosed},
		{"Durable", "Killed", 1, durableKilled},
		{"Durable", "FullDisk", 29, durableFull},
		{"Durable", "FullDiskInCalls", 28, durableFullInCalls},
	}
}

// durableReopen opens the store again after each Update.
func durableReopen(b *bench) {
	for n := 1; n <= 3; n++ {
		b.write(n)
		b.reopen()
		b.readers(func(how string, r store.Reader) { b.sees(r, n, n, "%s, in version %d closed and opened", how, n) })
	}
	b.reopen() // nothing written in between
	b.sees(b.Store, 3, 3, "on the store, closed and opened twice")
}

// durableEmpty opens a store without any writes.
func durableEmpty(b *bench) {
	b.reopen()
	b.sees(b.Store, 0, 0, "on a store closed and opened when empty")
	b.write(1)
	b.sees(b.Store, 1, 1, "on a store that was closed and opened when empty")
}

// durableDeletions closes the store after all but the events was deleted.
func durableDeletions(b *bench) {
	b.write(1)
	b.write(2)
	b.reopen()
	b.update(func(tx store.Tx) error { return erase(b.ctx, tx, 2) })
	b.reopen()
	b.sees(b.Store, 0, 2, "on the store, closed and opened after all but events was deleted")
}

// durableFailed closes the store after an Update that failed.
func durableFailed(b *bench) {
	b.write(1)
	_ = b.undo(func(tx store.Tx) error { return write(b.ctx, tx, 2) })
	b.reopen()
	seen, err := look(b.ctx, b.Store)
	b.ok(err, "on the store, closed and opened after a failed Update")
	for _, s := range seen {
		if s.version > 1 {
			b.under(4).compare(seen, 1, 1, "on the store, closed and opened after a failed Update")
			return
		}
	}
	b.compare(seen, 1, 1, "on the store, closed and opened after a failed Update")
}

// durableRecords compares whole records from before and after.
func durableRecords(b *bench) {
	l, a := license(1), activation(license(1).ID, 1)
	var before, after [3]any
	read := func(into *[3]any) {
		b.view(func(r store.Reader) (err error) {
			if into[0], err = r.License(b.ctx, l.ID); err != nil {
				return err
			}
			if into[1], err = r.Activation(b.ctx, l.ID, a.Fingerprint); err != nil {
				return err
			}
			into[2], err = r.Entry(b.ctx, "kind", entry("kind", 1).Key)
			return err
		})
	}
	b.add(l, a, entry("kind", 1), event(1), event(2))
	read(&before)
	events := b.feed(store.EventQuery{})
	b.reopen()
	read(&after)
	for i := range before {
		b.equal(after[i], before[i], "%v closed and opened", reflect.TypeOf(before[i]))
	}
	b.equal(b.feed(store.EventQuery{}), events, "events closed and opened")
}

// durableClosed makes every call on a store that was closed.
func durableClosed(b *bench) {
	b.write(1)
	b.reopen(func() {
		called := false
		for _, c := range readCalls {
			b.is(c.call(b.ctx, b.Store), store.ErrUnavailable, "%s on a store that was closed", c.method)
		}
		b.is(b.View(b.ctx, func(store.Reader) error {
			called = true
			return nil
		}), store.ErrUnavailable, "View on a store that was closed")
		for _, row := range []any{nil, entry("version", 1)} {
			b.is(b.Update(b.ctx, func(tx store.Tx) error {
				if called = true; row == nil {
					return nil
				}
				return put(b.ctx, tx, row)
			}), store.ErrUnavailable, "Update on a store that was closed")
		}
		b.equal(called, false, "the function of a View or an Update was called")
	})
	b.under(1).sees(b.Store, 1, 1, "on the store, closed and opened after calls in between")
}

// durableFeed empties the feed, closes the store, and appends.
func durableFeed(b *bench) {
	var highest int64
	for n := range 3 {
		b.append(event(2*n), event(2*n+1))
		seqs := b.seqs()
		for _, seq := range seqs {
			if seq <= highest {
				b.fail(seq, fmt.Sprintf("above %d", highest), "Seq after older events were removed, and the store closed and opened")
			}
		}
		highest = slices.Max(seqs)
		b.reopen()
		if !b.under(1).equal(b.seqs(), seqs, "Seqs in the feed, closed and opened") {
			return
		}
		b.drain(highest)
		b.reopen()
		if !b.under(1).equal(len(b.seqs()), 0, "events that were removed, closed and opened") {
			return
		}
	}
}
