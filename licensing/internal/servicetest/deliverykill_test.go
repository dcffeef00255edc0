package servicetest

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/webhook"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
	"github.com/seed-d8a106b4/licensekit/storetest"
)

func TestTwoRunsDeliverEachEventToEachWebhookOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		p, st := newPostOffice(), storetest.Twice(memory.New())
		a, b := licensing.NewHandler(st, postedBy(p)), licensing.NewHandler(st, postedBy(p))
		happen(t, a, 3) // before there are webhooks
		hook(t, a, "all.example")
		hook(t, a, "licenses.example", "license.*")
		hook(t, a, "none.example", "client.created")
		stopA, stopB := begin(t, a), begin(t, b)
		happen(t, a, 150)
		time.Sleep(time.Minute)
		stopA()
		happen(t, a, 50)
		time.Sleep(time.Minute)
		stopB()

		is.Equal(len(ids(p.at("licenses.example"))), 200)
		is.Equal(len(p.at("licenses.example")), 200) // and none twice
		is.Equal(len(p.at("all.example")), 202)      // and the making of the two after it
		is.Equal(len(ids(p.at("all.example"))), 202)
		is.Equal(len(p.at("none.example")), 0)
	})
}

// TestADeadReceiverLosesNothing takes a receiver away for an hour: connections
// are refused, and what could not be delivered is when it is back.
func TestADeadReceiverLosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		p := newPostOffice()
		h := licensing.NewHandler(memory.New(), seldom(p))
		w := hook(t, h, "dead.example")
		hook(t, h, "alive.example", "license.created")
		defer begin(t, h)()
		p.answers("dead.example", refused)
		for range 60 {
			happen(t, h, 5)
			time.Sleep(time.Minute)
		}
		require.AtLeast(t, len(p.at("alive.example")), 290) // but for the last round
		require.Less(t, len(p.at("dead.example")), 200)     // held back, not hammered
		seen, err := h.Webhooks().Get(t.Context(), w.ID)
		is.NoErr(err)
		is.True(seen.FailingSince != nil)
		is.Equal(deliveries(t, h, w.ID)[0].Status, api.DeliveryPending)

		p.answers("dead.example", nil)
		time.Sleep(5 * time.Minute)
		before := len(ids(p.at("dead.example")))
		time.Sleep(24 * time.Hour)
		is.Equal(len(ids(p.at("dead.example"))), 301) // all of them, and the other webhook's making
		require.AtLeast(t, before, 300)               // most of them as soon as it recovered
		seen, err = h.Webhooks().Get(t.Context(), w.ID)
		is.NoErr(err)
		is.Equal(seen.FailingSince, nil)
		is.Equal(deliveries(t, h, w.ID)[0].Status, api.DeliverySucceeded)
	})
}

// TestAKilledProcessLosesNothing cuts a process off from its store with
// requests under way, which is what the store sees of kill -9.
func TestAKilledProcessLosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		p, st := newPostOffice(), memory.New()
		cut := &brokenStore{Store: st}
		dying, next := licensing.NewHandler(cut, postedBy(p)), licensing.NewHandler(st, postedBy(p))
		hook(t, next, "x.example", "license.created")
		p.answers("x.example", func(*http.Request) (*http.Response, error) {
			cut.fail(func(context.Context) error { return store.ErrUnavailable }) // it was delivered, but the outcome is lost
			return status(200)(nil)
		})
		stop := begin(t, dying)
		happen(t, next, 30) // some claimed, some not handed on yet
		time.Sleep(5 * time.Second)
		stop()
		p.answers("x.example", nil)
		first := ids(p.at("x.example"))
		require.Greater(t, len(first), 0)

		stop = begin(t, next)
		time.Sleep(time.Hour)
		stop()
		is.Equal(len(ids(p.at("x.example"))), 30)
		for id, n := range ids(p.at("x.example")) {
			is.True(n == 1 || n == 2 && first[id] == 1) // repeated only what was under way
		}
	})
}

// TestTheClaimsOfAKilledProcessEndSoon kills a process that has claimed as many
// deliveries as one claim may have.
func TestTheClaimsOfAKilledProcessEndSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		p, st := newPostOffice(), memory.New()
		cut := &brokenStore{Store: st}
		dying, next := licensing.NewHandler(cut, postedBy(p)), licensing.NewHandler(st, postedBy(p))
		w := hook(t, next, "x.example", "license.created")
		happen(t, next, 300)
		p.answers("x.example", func(r *http.Request) (*http.Response, error) {
			if len(p.at("x.example")) > 100 { // by now batches are large
				cut.fail(func(context.Context) error { return store.ErrUnavailable })
				return refused(r)
			}
			return status(200)(r)
		})
		stop := begin(t, dying)
		time.Sleep(time.Second)
		stop()
		p.answers("x.example", nil)
		stop = begin(t, next)
		time.Sleep(40 * time.Second)
		stop()
		waiting, err := next.Webhooks().Deliveries(t.Context(), api.ListDeliveriesParams{WebhookID: w.ID, Status: api.DeliveryPending})
		is.NoErr(err)
		is.Equal(len(waiting.Data), 0)
	})
}

// TestAClaimIsRenewedWhileItIsSent has a receiver so slow that one batch takes
// longer than a claim lasts.
func TestAClaimIsRenewedWhileItIsSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		p, st := newPostOffice(), storetest.Twice(memory.New())
		a, b := licensing.NewHandler(st, postedBy(p)), licensing.NewHandler(st, postedBy(p))
		w := hook(t, a, "x.example", "license.created")
		happen(t, a, 150)
		p.answers("x.example", func(r *http.Request) (*http.Response, error) {
			if len(p.at("x.example")) > 60 { // four quick batches, so the next is as large as can be
				time.Sleep(14 * time.Second)
			}
			return status(200)(r)
		})
		stopA := begin(t, a)
		time.Sleep(5 * time.Second)
		stopB := begin(t, b) // sends a few at a time, and so often looks for more
		time.Sleep(time.Hour)
		stopA()
		stopB()
		is.Equal(len(p.at("x.example")), 150) // and none twice
		is.Equal(deliveries(t, a, w.ID)[0].Status, api.DeliverySucceeded)
	})
}

// TestAClockThatWasAheadHoldsNothingBack corrects a clock that was a day ahead,
// while Run runs and between two processes.
func TestAClockThatWasAheadHoldsNothingBack(t *testing.T) {
	for name, restart := range map[string]bool{"in one process": false, "across a restart": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				is := is.New(t)
				var ahead atomic.Int64
				var l ledger
				p, st := newPostOffice(), memory.New()
				cut := &brokenStore{Store: st}
				open := func(st store.Store) *licensing.Handler {
					opts := postedBy(p)
					opts.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
					opts.Subscribers = []licensing.Subscriber{{Name: "ledger", FromStart: true, Handle: l.handle}}
					return licensing.NewHandler(st, opts)
				}
				ahead.Store(int64(24 * time.Hour))
				h := open(cut)
				w := hook(t, h, "x.example", "license.created")
				p.answers("x.example", refused)
				stop := begin(t, h)
				time.Sleep(time.Second)
				happen(t, h, 10) // enough to open the breaker
				time.Sleep(30 * time.Second)
				if restart {
					cut.fail(func(context.Context) error { return store.ErrUnavailable }) // killed, with the lease of the subscriber
					stop()
					h = open(st)
				}
				ahead.Store(0)
				p.answers("x.example", nil)
				happen(t, h, 10)
				if restart {
					is.NoErr(st.Update(t.Context(), func(tx store.Tx) error {
						ahead := time.Now().Add(24 * time.Hour)
						return tx.PutEntries(t.Context(), store.Entry{Kind: "lease", Key: "subscriber:ledger", Data: []byte("killed"), ExpiresAt: ahead.Add(30 * time.Second), CreatedAt: ahead})
					}))
					stop = begin(t, h)
				}
				time.Sleep(10 * time.Minute)
				stop()
				waiting, err := h.Webhooks().Deliveries(t.Context(), api.ListDeliveriesParams{WebhookID: w.ID, Status: api.DeliveryPending})
				is.NoErr(err)
				is.Equal(len(waiting.Data), 0)
				is.Equal(len(ids(p.at("x.example"))), 20)
				is.Equal(len(l.got()), 21)
			})
		})
	}
}

// TestNoDeliveryWaitsForAClockThatWasAhead: deliveries were stored while a clock was 30
// days ahead, and the webhook was tested, its delivery resent, or it was paused, before
// Run saw the corrected clock.
func TestNoDeliveryWaitsForAClockThatWasAhead(t *testing.T) {
	for name, change := range map[string]func(context.Context, *webhook.Service, api.Delivery) error{
		"tested": func(ctx context.Context, s *webhook.Service, d api.Delivery) error {
			_, err := s.Test(ctx, d.WebhookID)
			return err
		},
		"resent": func(ctx context.Context, s *webhook.Service, d api.Delivery) error {
			_, err := s.Resend(ctx, d.WebhookID, d.ID)
			return err
		},
		"paused": func(ctx context.Context, s *webhook.Service, d api.Delivery) (err error) {
			for _, status := range []api.WebhookStatus{api.WebhookPaused, api.WebhookActive} {
				if err == nil {
					_, err = s.Update(ctx, api.UpdateWebhookParams{ID: d.WebhookID, Status: &status})
				}
			}
			return err
		},
	} {
		for _, up := range []bool{true, false} { // else other deliveries are always due earlier
			t.Run(fmt.Sprintf("%s, up %v", name, up), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					is := is.New(t)
					var ahead atomic.Int64
					p, st := newPostOffice(), memory.New()
					opts := seldom(p)
					opts.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
					ahead.Store(int64(30 * 24 * time.Hour))
					h := licensing.NewHandler(st, opts)
					w := hook(t, h, "x.example", api.EventLicenseCreated)
					p.answers("x.example", refused)
					stop := begin(t, h)
					happen(t, h, 3)
					time.Sleep(10 * time.Minute)
					stop()
					stored := deliveries(t, h, w.ID)
					is.Equal(len(stored), 3)
					ahead.Store(0)
					is.NoErr(change(t.Context(), h.Webhooks(), stored[0]))
					if up {
						p.answers("x.example", nil)
					}
					attempts := len(p.at("x.example"))
					stop = begin(t, h)
					for range 12 {
						happen(t, h, 1)
						time.Sleep(time.Hour)
					}
					stop()
					came := ids(p.at("x.example")[attempts:])
					for _, d := range stored {
						require.AtLeast(t, came[d.EventID], 1)
					}
				})
			})
		}
	}
}

func TestRunFinishesWhatIsUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		p, st := newPostOffice(), memory.New()
		h := licensing.NewHandler(st, postedBy(p))
		w := hook(t, h, "slow.example", "license.created")
		p.answers("slow.example", func(r *http.Request) (*http.Response, error) {
			time.Sleep(10 * time.Second)
			return status(200)(r)
		})
		stop := begin(t, h)
		happen(t, h, 50)
		time.Sleep(5 * time.Second)
		stop()
		began := len(p.at("slow.example"))
		require.Greater(t, began, 0)
		require.Less(t, began, 50)
		done := map[api.DeliveryStatus]int{}
		for _, d := range deliveries(t, h, w.ID) {
			done[d.Status]++
		}
		is.Equal(done[api.DeliverySucceeded], began) // none left in the dark
		p.answers("slow.example", nil)
		defer begin(t, h)() // and starts again immediately, without waiting for a lease to end
		time.Sleep(5 * time.Second)
		is.Equal(len(p.at("slow.example")), 50)
		is.Equal(len(ids(p.at("slow.example"))), 50)
	})
}
