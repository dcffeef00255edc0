package webhook

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/outbox"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// blindStore fails to list cursors while blind is true.
type blindStore struct {
	store.Store
	blind atomic.Bool
}

func (st *blindStore) Entries(ctx context.Context, q store.EntryQuery) ([]store.Entry, error) {
	if q.Kind == cursorKind && st.blind.Load() {
		return nil, store.ErrUnavailable
	}
	return st.Store.Entries(ctx, q)
}

// A process that acquires the lease again reads the cursors again, even if its first
// attempt fails.
func TestCursorsAreReadAgainAfterAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := &blindStore{Store: memory.New()}
		here, elsewhere := newBench(st, 0), newBench(st.Store, 0)
		here.hook(t, "x.example", api.EventLicenseCreated)
		want := here.licenses(t, 1)
		defer here.run(t)()
		time.Sleep(time.Minute)
		stop := elsewhere.run(t)
		want = append(want, here.licenses(t, 20)...)
		time.Sleep(time.Minute)
		stop()
		st.blind.Store(true)
		want = append(want, here.licenses(t, 1)...)
		time.Sleep(10 * time.Second)
		st.blind.Store(false)
		time.Sleep(time.Minute)
		sameOnce(t, append(here.at("x.example"), elsewhere.at("x.example")...), want)
	})
}

// TestALostLeaseStoresNothing: a process whose lease another process has taken while
// it was sending stores no outcome and moves no position.
func TestALostLeaseStoresNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		b := newBench(memory.New(), 0)
		w := b.hook(t, "x.example", api.EventLicenseCreated)
		begins := b.cursorOf(t, w.ID)
		ids := b.licenses(t, 3)
		b.delay = func(string) time.Duration { return 500 * time.Millisecond }
		stop := b.run(t)
		time.Sleep(100 * time.Millisecond) // the requests are under way
		is.NoErr(b.store.Update(t.Context(), func(tx store.Tx) error {
			return tx.PutEntries(t.Context(), store.Entry{Kind: "lease", Key: "webhook", Data: []byte("another"), CreatedAt: time.Now(), ExpiresAt: time.Now().Add(30 * time.Second)})
		}))
		time.Sleep(20 * time.Second)
		stop()
		sameOnce(t, b.at("x.example"), ids) // it does not send them again
		is.Equal(b.cursorOf(t, w.ID), begins)
		stored, err := b.store.Entries(t.Context(), store.EntryQuery{Kind: outbox.Kind})
		is.NoErr(err)
		is.Equal(len(stored), 0)
	})
}

// TestALeaseThatAnotherProcessHadStoresNothing: another process had the lease in the
// meantime and released it, so the positions may have changed.
func TestALeaseThatAnotherProcessHadStoresNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		b := newBench(memory.New(), 0)
		b.hook(t, "x.example", api.EventLicenseCreated)
		ids := b.licenses(t, 3)
		b.delay = func(string) time.Duration { return 500 * time.Millisecond }
		defer b.run(t)()
		time.Sleep(100 * time.Millisecond)
		is.NoErr(b.store.Update(t.Context(), func(tx store.Tx) error { return tx.DeleteEntries(t.Context(), "lease", "webhook") }))
		time.Sleep(20 * time.Second)
		for _, id := range ids {
			is.Equal(each(b.at("x.example"))[id], 2) // sent again
		}
	})
}

// TestClocksThatDifferUseUpNoAttempts: two processes whose clocks differ by minutes
// take turns in sending to a receiver that is down. Its deliveries keep their attempts
// for as long as the schedule says.
func TestClocksThatDifferUseUpNoAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		st := memory.New()
		here, ahead := newBench(st, 0), newBench(st, 5*time.Minute)
		w := here.hook(t, "x.example", api.EventLicenseCreated)
		var up atomic.Bool
		here.answer = func(string) int {
			if up.Load() {
				return http.StatusOK
			}
			return http.StatusInternalServerError
		}
		ahead.Service = open(ahead.rules, Options{Transport: here.receivers})
		want := here.licenses(t, 3)
		for range 30 {
			for _, b := range []*bench{here, ahead} {
				stop := b.run(t)
				time.Sleep(2 * time.Minute)
				stop()
			}
		}
		page, err := here.Deliveries(t.Context(), api.ListDeliveriesParams{WebhookID: w.ID})
		is.NoErr(err)
		for _, d := range page.Data {
			is.Equal(d.Status, api.DeliveryPending)
			require.AtMost(t, len(d.Attempts), 6) // in two hours, by clocks that differ by five minutes
		}
		up.Store(true)
		defer here.run(t)()
		time.Sleep(6 * time.Hour)
		sameOnce(t, here.taken["x.example"], want)
	})
}

// A storeOfEvents counts the events that a store returns.
type storeOfEvents struct {
	store.Store
	n atomic.Int64
}

func (st *storeOfEvents) Events(ctx context.Context, q store.EventQuery) ([]store.Event, error) {
	events, err := st.Store.Events(ctx, q)
	st.n.Add(int64(len(events)))
	return events, err
}

// TestATargetThatCatchesUpReadsWhatItSends: a target that is behind reads the events of a
// few batches for each, and finds the few among many that its webhook selects.
func TestATargetThatCatchesUpReadsWhatItSends(t *testing.T) {
	for name, types := range map[string][]string{"all events": nil, "few events": {api.EventLicenseDeleted}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				is := is.New(t)
				st := &storeOfEvents{Store: memory.New()}
				b := newBench(st, 0)
				w := b.hook(t, "x.example", types...)
				_, err := b.Update(t.Context(), api.UpdateWebhookParams{ID: w.ID, Status: ptr(api.WebhookPaused)})
				is.NoErr(err)
				want := b.licenses(t, 500)
				err = b.rules.Delete(t.Context(), api.DeleteLicenseParams{ID: want[499]})
				is.NoErr(err)
				_, err = b.Update(t.Context(), api.UpdateWebhookParams{ID: w.ID, Status: ptr(api.WebhookActive)})
				is.NoErr(err)
				st.n.Store(0)
				defer b.run(t)()
				time.Sleep(10 * time.Second)
				require.AtMost(t, st.n.Load(), 2500)
				got := each(b.at("x.example"))
				require.Greater(t, got[want[499]], 0)
			})
		})
	}
}

// TestAnEventThatCouldNotBePreparedIsSentLater: it is stored as pending when the
// position moves past it with later events.
func TestAnEventThatCouldNotBePreparedIsSentLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(memory.New(), 0)
		var reads atomic.Int64
		inner.Of(b.Service).Init(b.rules, func(context.Context, string) ([]string, bool, error) {
			if reads.Add(1) == 1 {
				time.Sleep(10 * time.Millisecond)
				return nil, false, store.ErrUnavailable
			}
			return nil, true, nil
		}, Options{Transport: b.receivers})
		b.hook(t, "x.example", api.EventLicenseCreated)
		want := b.licenses(t, 4)
		defer b.run(t)()
		time.Sleep(5 * time.Second)
		if got := len(b.at("x.example")); got != 3 {
			t.Errorf("%d came before the pause, want 3", got)
		}
		time.Sleep(time.Minute)
		sameOnce(t, b.at("x.example"), want)
	})
}

// TestManyHangingReceivers: more receivers that hang than there are workers delay the
// others for as long as one request takes, at most.
func TestManyHangingReceivers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(memory.New(), 0)
		b.delay = func(host string) time.Duration {
			if host == "quick.example" {
				return 0
			}
			return 15 * time.Second
		}
		b.answer = func(host string) int {
			if host == "quick.example" {
				return http.StatusNoContent
			}
			return http.StatusGatewayTimeout
		}
		for i := range workersMost + 20 {
			b.hook(t, fmt.Sprintf("%d.example", i), api.EventLicenseCreated)
		}
		b.hook(t, "quick.example", api.EventLicenseCreated)
		defer b.run(t)()
		want := b.licenses(t, 10)
		time.Sleep(20 * time.Second)
		sameOnce(t, b.at("quick.example"), want)
		for range 10 { // from now on the breakers of the others are open, or they have failed before
			more := b.licenses(t, 1)
			want = append(want, more...)
			time.Sleep(17 * time.Second)
			if each(b.at("quick.example"))[more[0]] != 1 {
				t.Error("an event did not arrive in time")
			}
		}
		time.Sleep(20 * time.Second)
		sameOnce(t, b.at("quick.example"), want)
	})
}
