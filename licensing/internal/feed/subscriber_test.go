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

// TestASubscriberThatLosesItsLeaseStops: when another process has taken over,
// the one before hands over nothing more, even to code that does not look at
// its context.
//
// Fault: the rest of the batch is handled by two processes at a time.
func TestASubscriberThatLosesItsLeaseStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		st := memory.New()
		is.NoErr(st.Update(t.Context(), func(tx store.Tx) error {
			for range 3 {
				if _, err := tx.AppendEvents(t.Context(), store.Event{ID: store.NewID("evt", time.Now()), Type: "license.created", Time: stored(time.Now())}); err != nil {
					return err
				}
			}
			return nil
		}))
		ctx, cancel := context.WithCancel(t.Context())
		handled := 0
		handle := func(context.Context, store.Event) error {
			handled++
			is.NoErr(st.Update(t.Context(), func(tx store.Tx) error {
				return tx.PutEntries(t.Context(), store.Entry{
					Kind: leaseKind, Key: subscriberCursor + "s", Data: []byte("another"), ExpiresAt: time.Now().Add(time.Hour),
				})
			}))
			time.Sleep(leaseTTL) // in which the loss is noticed
			return nil
		}
		e := New(Config{
			Store: st, Now: time.Now, Logger: slog.New(slog.DiscardHandler),
			Subscribers: []Subscriber{{Name: "s", FromStart: true, Handle: handle}},
		})
		time.AfterFunc(10*leaseTTL, cancel)
		is.NoErr(e.Run(ctx))
		is.Equal(handled, 1)
		seq, _, err := ReadCursor(t.Context(), st, subscriberCursor+"s")
		is.NoErr(err)
		is.Equal(seq, int64(0)) // the position belongs to the other process
	})
}

// TestAnInterruptedRetryOfADeadLetterIsRepeated: a retry that ends because another
// process has taken over is not a failure.
func TestAnInterruptedRetryOfADeadLetterIsRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		st := memory.New()
		is.NoErr(st.Update(t.Context(), func(tx store.Tx) error {
			_, err := tx.AppendEvents(t.Context(), store.Event{ID: store.NewID("evt", time.Now()), Type: "license.created", Time: stored(time.Now())})
			return err
		}))
		ctx, cancel := context.WithCancel(t.Context())
		calls := 0
		handle := func(under context.Context, _ store.Event) error {
			switch calls++; calls {
			case 1:
				return errors.New("broken")
			case 2:
				is.NoErr(st.Update(t.Context(), func(tx store.Tx) error {
					return putLease(t.Context(), tx, subscriberCursor+"s", "another", time.Now())
				}))
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
