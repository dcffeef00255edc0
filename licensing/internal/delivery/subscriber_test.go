package delivery

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/licensing/license"
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
		rules := license.New(st, license.Options{})
		for range 3 {
			_, err := rules.Create(t.Context(), license.CreateParams{Name: "n", ProductID: "p", CustomerID: "c"})
			is.NoErr(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		handled := 0
		handle := func(context.Context, license.Event) error {
			handled++
			is.NoErr(st.Update(t.Context(), func(tx store.Tx) error {
				return tx.PutEntries(t.Context(), store.Entry{
					Kind: leaseKind, Key: license.SubscriberCursor + "s", Data: []byte("another"), ExpiresAt: time.Now().Add(time.Hour),
				})
			}))
			time.Sleep(leaseTTL) // in which the loss is noticed
			return nil
		}
		e := New(Config{
			Store: st, Licenses: rules, Now: time.Now, Logger: slog.New(slog.DiscardHandler),
			Subscribers: []Subscriber{{Name: "s", FromStart: true, Handle: handle}},
		})
		time.AfterFunc(10*leaseTTL, cancel)
		is.NoErr(e.Run(ctx))
		is.Equal(handled, 1)
	})
}
