package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/seed-d8a106b4/licensekit/store"
)

func durableCases() []testCase {
	return []testCase{
		{"Durable", "Reopened", 1, durableReopened},
		{"Durable", "FeedGoesOn", 20, durableFeed},
		{"Durable", "Closed", 32, durableClosed},
		{"Durable", "ClosedAmongWrites", 1, durableClosedAmongWrites},
		{"Durable", "Killed", 1, durableKilled},
		{"Durable", "KilledWhenEmpty", 20, durableKilledWhenEmpty},
		{"Durable", "FullDisk", 29, durableFull},
		{"Durable", "FullDiskInCalls", 28, durableFullInCalls},
	}
}

// durableReopened compares the answers before and after the store is closed, after
// each Update and after one that failed.
func durableReopened(b *bench) {
	for _, then := range []func(){ // Seqs after a Close are for rule 20
		func() {},
		func() { b.addBatch(newBatch(3)) },
		func() { b.update(func(tx store.Tx) error { return change(b, tx, false) }) },
		func() {
			_ = b.undo(func(tx store.Tx) error {
				return errors.Join(remove(b.ctx, tx, license(1)), put(b.ctx, tx, entry("kind", 9)), put(b.ctx, tx, event(9)))
			})
		},
		func() {},
	} {
		then()
		before, err := answers(b.ctx, b.Store)
		b.ok(err, "reading")
		b.reopen()
		b.readers(func(how string, r store.Reader) {
			after, err := answers(b.ctx, r)
			b.equal(err, nil, "reading %s", how)
			b.sameAnswers(after, before, how+", closed and opened")
		})
	}
}

// nothingToRead makes calls that a store could answer without its data.
func nothingToRead(ctx context.Context, r store.Reader) (errs []error) {
	note := func(_ any, err error) { errs = append(errs, err) }
	for _, by := range selectors {
		for _, s := range []string{"", "\xff"} {
			note(by.find(ctx, r, s))
		}
	}
	note(r.Licenses(ctx, store.LicenseQuery{IDs: []string{}}))
	note(r.CountLicenses(ctx, store.LicenseQuery{}, store.Position{ID: "a"}))
	note(r.Entries(ctx, store.EntryQuery{Kind: "version", Keys: []string{}}))
	return errs
}

// durableClosed makes every call on a store that was closed.
func durableClosed(b *bench) {
	b.write(1)
	b.reopen(func() {
		called := false
		for i, err := range nothingToRead(b.ctx, b.Store) {
			b.is(err, store.ErrUnavailable, "call %d that needs no data, on a store that was closed", i)
		}
		for _, c := range readCalls {
			b.is(c.call(b.ctx, b.Store), store.ErrUnavailable, "%s on a store that was closed", c.method)
		}
		b.is(b.View(b.ctx, func(store.Reader) error {
			called = true
			return nil
		}), store.ErrUnavailable, "View on a store that was closed")
		b.is(b.Update(b.ctx, func(tx store.Tx) error {
			called = true
			return nil // and so has nothing to commit
		}), store.ErrUnavailable, "Update on a store that was closed")
		b.equal(called, false, "the function of a View or an Update was called")
	})
	b.under(1).sees(b.Store, 1, 1, "on the store, closed and opened after calls in between")
}

// durableClosedAmongWrites closes the store while callers write and the function of one
// runs, and checks that what was acknowledged is there, and what failed is not.
func durableClosedAmongWrites(b *bench) {
	var tried [4]map[string]error // by key
	var writing sync.WaitGroup
	writing.Add(len(tried))
	st := b.Store
	writers := b.start(func() {
		b.together(len(tried), func(i int) {
			var once sync.Once
			tried[i] = map[string]error{}
			for n := 0; ; n++ {
				e := entry("kind", 500_000*i+n) // whose times end before year 10000 (rule 8)
				err := st.Update(b.ctx, func(tx store.Tx) error {
					if i == 0 && n == 4 {
						once.Do(writing.Done)
						windowOr(nil)
					}
					return put(b.ctx, tx, e)
				})
				if i > 0 && n == 3 {
					writing.Done()
				}
				if tried[i][e.Key] = err; err != nil && n > 3 && !errors.Is(err, store.ErrConflict) {
					if !errors.Is(err, store.ErrUnknownOutcome) {
						b.under(32).is(err, store.ErrUnavailable, "Update during Close")
					}
					return
				}
			}
		})
	})
	writing.Wait()
	b.reopen(func() { <-writers })
	for _, keys := range tried {
		for key, failed := range keys {
			e, err := b.Entry(b.ctx, "kind", key)
			if failed == nil {
				b.equal(err, nil, "Entry that was acknowledged while the store was closed")
			} else if !errors.Is(failed, store.ErrUnknownOutcome) {
				b.under(29).gone(e.Key, err, "Entry of an Update that failed while the store was closed")
			}
		}
	}
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
