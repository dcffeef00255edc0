package webhook

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/feed"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/outbox"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// A readDeliveries counts the deliveries that Updates read.
type readDeliveries struct {
	store.Store
	n int
}

type readDeliveriesTx struct {
	store.Tx
	read *readDeliveries
}

func (r *readDeliveries) Update(ctx context.Context, fn func(store.Tx) error) error {
	return r.Store.Update(ctx, func(tx store.Tx) error { return fn(readDeliveriesTx{tx, r}) })
}

func (tx readDeliveriesTx) Entries(ctx context.Context, q store.EntryQuery) ([]store.Entry, error) {
	entries, err := tx.Tx.Entries(ctx, q)
	if q.Kind == "delivery" {
		tx.read.n += len(entries)
	}
	return entries, err
}

// TestAPausedWebhookDelaysNoPurge: retention reads the deliveries of a paused webhook
// outside of Updates, so that other writers do not wait.
func TestAPausedWebhookDelaysNoPurge(t *testing.T) {
	is := is.New(t)
	st, now := &readDeliveries{Store: memory.New()}, start
	clock := func() time.Time { return now }
	s := open(license.New(st, license.Options{Now: clock}), Options{})
	w, _, err := s.Create(t.Context(), api.CreateWebhookParams{URL: "https://x.example/"})
	is.NoErr(err)
	for range 10 {
		_, err = s.Test(t.Context(), w.ID)
		is.NoErr(err)
	}
	now = now.Add(49 * time.Hour)
	_, err = feed.Retention{Store: st, Now: clock, Keep: 48 * time.Hour, Needs: []feed.Needs{s.needs}}.Purge(t.Context())
	is.NoErr(err)
	is.Equal(st.n, 0)
	events, err := st.Events(t.Context(), store.EventQuery{})
	is.NoErr(err)
	is.Equal(len(events), 10) // all but the creation of the webhook, where the cursor stands
}

// TestOldDeliveriesAreRemovedBesidePendingOnes: the deliveries in the queue of a
// paused webhook stay, whatever their number, and finished ones are removed.
func TestOldDeliveriesAreRemovedBesidePendingOnes(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	paused, _ := f.webhook(t)
	_, err := f.Update(t.Context(), api.UpdateWebhookParams{ID: paused.ID, Status: ptr(api.WebhookPaused)})
	is.NoErr(err)
	for range 2*purgeBatch + 10 {
		_, err = f.Test(t.Context(), paused.ID)
		is.NoErr(err)
	}
	active, _ := f.webhook(t)
	finish := func(n int) {
		t.Helper()
		var finished []outbox.Delivery
		for range n {
			d, err := f.Test(t.Context(), active.ID)
			is.NoErr(err)
			rec, err := outbox.Get(t.Context(), f.store, active.ID, d.ID)
			is.NoErr(err)
			is.NoErr(applyOutcome(&rec, outcome{kind: delivered, attempt: api.Attempt{At: f.now, StatusCode: 204}}, f.now, true))
			rec.UpdatedAt = f.now
			finished = append(finished, rec)
		}
		is.NoErr(f.store.Update(t.Context(), func(tx store.Tx) error { return outbox.Put(t.Context(), tx, finished...) }))
	}
	count := func(id string) int {
		list, err := outbox.Newest(t.Context(), f.store, id, "", 1000)
		is.NoErr(err)
		return len(list)
	}
	f.now = f.now.Add(time.Hour)
	finish(2*purgeBatch + 10)
	for i, want := range []int{2*purgeBatch + 10, 5, 5} {
		if i == 1 {
			finish(5)
		}
		for more := true; more; {
			more, err = f.purge(t.Context())
			is.NoErr(err)
		}
		is.Equal(count(active.ID), want)
		is.Equal(count(paused.ID), 2*purgeBatch+10)
		f.now = f.now.Add([]time.Duration{31 * day, day, 0}[i])
	}

	is.NoErr(f.Delete(t.Context(), paused.ID))
	for more := true; more; {
		more, err = f.purge(t.Context())
		is.NoErr(err)
	}
	is.Equal(count(paused.ID), 0)

	// The clock was ahead and is corrected.
	f.now = f.now.Add(-365 * day)
	finish(3)
	f.now = f.now.Add(31 * day)
	_, err = f.purge(t.Context())
	is.NoErr(err)
	is.Equal(count(active.ID), 5)
}

// TestASuccessIsStoredInLittleSpace: most entries of a store may be successful
// deliveries.
func TestASuccessIsStoredInLittleSpace(t *testing.T) {
	is := is.New(t)
	d := newDelivery("whk_"+strings.Repeat("0", 26), store.Event{ID: "evt_" + strings.Repeat("0", 26), Seq: 1_000_000, Type: api.EventLicenseCreated, Time: start}, start)
	want := api.Attempt{At: start, StatusCode: 204, DurationMS: 1234}
	is.NoErr(applyOutcome(&d, outcome{kind: delivered, attempt: want}, start, true))
	st := memory.New()
	is.NoErr(st.Update(t.Context(), func(tx store.Tx) error { return outbox.Put(t.Context(), tx, d) }))
	e, err := st.Entry(t.Context(), outbox.Kind, d.WebhookID+"/"+d.ID)
	is.NoErr(err)
	is.Equal(e.Owner, "")
	require.Less(t, len(e.Data), 150)
	got, err := fromDelivery(d)
	is.NoErr(err)
	is.Equal(got.Attempts, []api.Attempt{want})
}

func TestEventsAreKeptForAsLongAsTheyAreNeeded(t *testing.T) {
	is := is.New(t)
	f := newFixture(t, func(o *license.Options, _ *Options) { o.Events.Retention = 48 * time.Hour })
	w, _ := f.webhook(t)
	for range 3 {
		f.license(t)
	}
	purge := func() int { return f.purgeAll(t) }
	subscriber := func(seq int64, ran time.Time) {
		is.NoErr(f.store.Update(t.Context(), func(tx store.Tx) error {
			return tx.PutEntries(t.Context(), store.Entry{Kind: "subscriber_cursor", Key: "subscriber:slow", Data: fmt.Appendf(nil, `{"seq":%d}`, seq), CreatedAt: ran})
		}))
	}
	is.Equal(purge(), 4) // too young
	f.now = f.now.Add(49 * time.Hour)
	f.license(t)
	is.Equal(purge(), 4) // the webhook has not got the licenses
	f.position(t, 5)
	subscriber(2, f.now)
	is.Equal(purge(), 3) // the subscriber has come as far as the second
	subscriber(2, f.now.Add(-49*time.Hour))
	d, err := f.Test(t.Context(), w.ID)
	is.NoErr(err)
	is.Equal(purge(), 2) // no process runs it any more; the license and the test are young
	f.now = f.now.Add(49 * time.Hour)
	is.Equal(purge(), 1) // the test has not been handed on
	f.position(t, 6)
	is.Equal(purge(), 1) // the test is under way
	is.NoErr(f.store.Update(t.Context(), func(tx store.Tx) error {
		rec, err := outbox.Get(t.Context(), tx, d.WebhookID, d.ID)
		is.NoErr(err)
		rec.State, rec.DueAt = string(api.DeliverySucceeded), time.Time{}
		return outbox.Put(t.Context(), tx, rec)
	}))
	f.license(t)
	is.Equal(purge(), 1) // the newest event
	f.position(t, 7)     // the last license does not wait
	f.now = f.now.Add(31 * 24 * time.Hour)
	purge()
	page, err := f.Deliveries(t.Context(), api.ListDeliveriesParams{WebhookID: w.ID})
	is.NoErr(err)
	is.Equal(len(page.Data), 0)
}

// TestAWebhookThatGetsNothingDoesNotHoldRetention: the events that wait for it
// are removed, and its history says that they were skipped.
func TestAWebhookThatGetsNothingDoesNotHoldRetention(t *testing.T) {
	for name, test := range map[string]struct {
		change func(f *fixture, id string) error
		after  time.Duration
		kept   int // events
	}{
		"paused": {func(f *fixture, id string) error {
			_, err := f.Update(t.Context(), api.UpdateWebhookParams{ID: id, Status: ptr(api.WebhookPaused)})
			return err
		}, 49 * time.Hour, 2},
		"disabled": {func(f *fixture, id string) error {
			_, err := f.reportOn(t.Context(), id, resultGone)
			return err
		}, 49 * time.Hour, 2},
		"active":           {func(*fixture, string) error { return nil }, 4 * day, 7},
		"active, too long": {func(*fixture, string) error { return nil }, 6 * day, 2},
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			f := newFixture(t, func(o *license.Options, _ *Options) { o.Events.Retention = 48 * time.Hour })
			w, _ := f.webhook(t)
			for range 5 {
				_, err := f.Test(t.Context(), w.ID)
				is.NoErr(err)
			}
			is.NoErr(test.change(f, w.ID))
			f.position(t, 100)
			f.now = f.now.Add(test.after)
			_, err := f.Test(t.Context(), w.ID) // its event is young, and the first one that stays
			is.NoErr(err)
			f.license(t) // the newest event stays in any case
			f.now = f.now.Add(time.Minute)
			is.Equal(f.purgeAll(t), test.kept)
			failed, err := f.Deliveries(t.Context(), api.ListDeliveriesParams{WebhookID: w.ID, Status: api.DeliveryFailed})
			is.NoErr(err)
			if name == "paused" || name == "disabled" {
				is.Equal(len(failed.Data), 5)
				is.Equal(failed.Data[0].Attempts[0].Error, "skipped: the event is no longer kept")
			}
		})
	}
}

// Fault: a time before 1970 has no id, and the one it is given sorts behind
// all others.
func TestDeliveriesAreKeptForEverIfTheRetentionIsThatLong(t *testing.T) {
	is := is.New(t)
	f := newFixture(t, func(_ *license.Options, o *Options) { o.DeliveryRetention = math.MaxInt64 })
	w, _ := f.webhook(t)
	d, err := f.Test(t.Context(), w.ID)
	is.NoErr(err)
	is.NoErr(f.store.Update(t.Context(), func(tx store.Tx) error {
		rec, err := outbox.Get(t.Context(), tx, d.WebhookID, d.ID)
		is.NoErr(err)
		rec.State, rec.DueAt = string(api.DeliverySucceeded), time.Time{}
		return outbox.Put(t.Context(), tx, rec)
	}))
	f.purgeAll(t)
	page, err := f.Deliveries(t.Context(), api.ListDeliveriesParams{WebhookID: w.ID})
	is.NoErr(err)
	is.Equal(len(page.Data), 1)
}
