package feed

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// takeOver makes another process the holder of the lease of the subscriber s. That
// process's clock is ahead.
func takeOver(t *testing.T, st store.Store) {
	is.New(t).NoErr(st.Update(t.Context(), func(tx store.Tx) error {
		return putLease(t.Context(), tx, subscriberCursor+"s", "another", stored(time.Now()).Add(leaseTTL/2))
	}))
}

// TestASubscriberThatLosesItsLeaseStops: when another process has taken over,
// the one before hands over nothing more, even to code that does not look at
// its context.
//
// Fault: the rest of the batch is handled by two processes at a time.
func TestASubscriberThatLosesItsLeaseStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		st := memory.New()
		for range 3 {
			appendEvent(t, st)
		}
		ctx, cancel := context.WithCancel(t.Context())
		handled := 0
		handle := func(context.Context, store.Event) error {
			handled++
			takeOver(t, st)
			time.Sleep(leaseTTL) // in which the loss is noticed
			return nil
		}
		e := New(Config{
			Store: st, Now: time.Now, Logger: slog.New(slog.DiscardHandler),
			Subscribers: []Subscriber{{Name: "s", FromStart: true, Handle: handle}},
		})
		time.AfterFunc(leaseTTL*4/3, cancel)
		is.NoErr(e.Run(ctx))
		is.Equal(handled, 1)
		rec, _, err := readSubscriber(t.Context(), st, "s")
		is.NoErr(err)
		is.Equal(rec.Seq, int64(0)) // the position belongs to the other process
	})
}

// TestAReleasedLeaseIsLost: another process may have acquired it in between and moved
// the position.
func TestAReleasedLeaseIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		st := memory.New()
		for range 2 {
			appendEvent(t, st)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var handled []int64
		handle := func(_ context.Context, e store.Event) error {
			if handled = append(handled, e.Seq); len(handled) == 1 {
				is.NoErr(st.Update(t.Context(), func(tx store.Tx) error {
					return tx.DeleteEntries(t.Context(), leaseKind, subscriberCursor+"s")
				}))
			}
			time.Sleep(time.Second) // so that the position is stored
			return nil
		}
		e := New(Config{
			Store: st, Now: time.Now, Logger: slog.New(slog.DiscardHandler),
			Subscribers: []Subscriber{{Name: "s", FromStart: true, Handle: handle}},
		})
		time.AfterFunc(time.Minute, cancel)
		is.NoErr(e.Run(ctx))
		is.Equal(handled, []int64{1, 1, 2})
		rec, _, err := readSubscriber(t.Context(), st, "s")
		is.NoErr(err)
		is.Equal(rec.Seq, int64(2))
		_, err = st.Entry(t.Context(), leaseKind, subscriberCursor+"s")
		is.True(errors.Is(err, store.ErrNotFound)) // released at the end of Run
	})
}

// TestARemovedDeadLetterStaysRemoved: a failed retry does not restore a letter that
// another process has removed.
func TestARemovedDeadLetterStaysRemoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		st := memory.New()
		appendEvent(t, st)
		ctx, cancel := context.WithCancel(t.Context())
		calls := 0
		handle := func(context.Context, store.Event) error {
			if calls++; calls == 2 {
				is.NoErr(st.Update(t.Context(), func(tx store.Tx) error {
					return tx.DeleteEntries(t.Context(), letterKind, letterKey("s", 1))
				}))
			}
			return errors.New("broken")
		}
		e := New(Config{
			Store: st, Now: time.Now, Logger: slog.New(slog.DiscardHandler),
			Subscribers: []Subscriber{{Name: "s", FromStart: true, MaxAttempts: 1, Handle: handle}},
		})
		time.AfterFunc(time.Minute, func() { is.NoErr(e.RetryDeadLetter(ctx, "s", 1)) })
		time.AfterFunc(10*time.Minute, cancel)
		is.NoErr(e.Run(ctx))
		is.Equal(calls, 2)
		letters, err := e.DeadLetters(t.Context(), "s")
		is.NoErr(err)
		is.Equal(len(letters), 0)
	})
}

// appendEvent appends an event to the feed.
func appendEvent(t *testing.T, st store.Store) {
	is.New(t).NoErr(st.Update(t.Context(), func(tx store.Tx) error {
		return tx.AppendEvents(t.Context(), store.Event{ID: store.NewID("evt", time.Now()), Type: "license.created", Time: stored(time.Now())})
	}))
}

// TestAnInterruptedRetryOfADeadLetterIsRepeated: a retry that ends because another
// process has taken over is not a failure.
func TestAnInterruptedRetryOfADeadLetterIsRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		st := memory.New()
		appendEvent(t, st)
		ctx, cancel := context.WithCancel(t.Context())
		calls := 0
		handle := func(under context.Context, _ store.Event) error {
			switch calls++; calls {
			case 1:
				return errors.New("broken")
			case 2:
				takeOver(t, st)
				<-under.Done()
				return under.Err()
			}
			return nil
		}
		e := New(Config{
			Store: st, Now: time.Now, Logger: slog.New(slog.DiscardHandler),
			Subscribers: []Subscriber{{Name: "s", FromStart: true, MaxAttempts: 1, Handle: handle}},
		})
		time.AfterFunc(time.Minute, func() {
			letters, err := e.DeadLetters(ctx, "s")
			is.NoErr(err)
			is.Equal(len(letters), 1)
			is.NoErr(e.RetryDeadLetter(ctx, "s", letters[0].Seq))
		})
		time.AfterFunc(10*time.Minute, cancel)
		is.NoErr(e.Run(ctx))
		is.Equal(calls, 3)
		letters, err := e.DeadLetters(t.Context(), "s")
		is.NoErr(err)
		is.Equal(len(letters), 0)
	})
}
