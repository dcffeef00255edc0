package webhook

import (
	"math"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/core/outbox"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store"
)

func TestEventsAreKeptForAsLongAsTheyAreNeeded(t *testing.T) {
	is := is.New(t)
	f := newFixture(t, func(o *license.Options, _ *Options) { o.Events.Retention = 48 * time.Hour })
	w, _ := f.webhook(t)
	for range 3 {
		f.license(t)
	}
	purge := func() int { return f.purgeAll(t) }
	cursor := func(key string, seq int64, touched time.Time) { f.cursor(t, key, seq, touched) }
	is.Equal(purge(), 4) // too young
	f.now = f.now.Add(49 * time.Hour)
	f.license(t)
	is.Equal(purge(), 4) // the webhook has not got the licenses
	f.position(t, 5)
	cursor("subscriber:slow", 2, f.now)
	is.Equal(purge(), 3) // the subscriber has come as far as the second
	cursor("subscriber:slow", 2, f.now.Add(-49*time.Hour))
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
		rec.State, rec.DueAt = string(DeliverySucceeded), time.Time{}
		return outbox.Put(t.Context(), tx, rec)
	}))
	f.license(t)
	is.Equal(purge(), 1) // the newest event
	f.position(t, 7)     // the last license does not wait
	f.now = f.now.Add(31 * 24 * time.Hour)
	purge()
	page, err := f.Deliveries(t.Context(), DeliveriesParams{WebhookID: w.ID})
	is.NoErr(err)
	is.Equal(len(page.Data), 0)
}

// TestAWebhookThatGetsNothingDoesNotHoldRetention: the events that wait for it
// are removed, and its history says that they were skipped.
func TestAWebhookThatGetsNothingDoesNotHoldRetention(t *testing.T) {
	for name, test := range map[string]struct {
		change func(f *fixture, id string) error
		after  time.Duration
		kept   bool
	}{
		"paused": {func(f *fixture, id string) error {
			_, err := f.Update(t.Context(), UpdateParams{ID: id, Status: ptr(StatusPaused)})
			return err
		}, 49 * time.Hour, false},
		"disabled": {func(f *fixture, id string) error {
			_, err := f.report(t.Context(), id, resultGone)
			return err
		}, 49 * time.Hour, false},
		"active": {func(*fixture, string) error { return nil }, 4 * day, true},
		"active, of an earlier version": {func(f *fixture, id string) error {
			f.cursor(t, cursorKey, 100, f.now)
			return f.store.Update(t.Context(), func(tx store.Tx) error { return tx.DeleteEntries(t.Context(), laneKind, id) })
		}, 4 * day, true},
		"active, too long": {func(*fixture, string) error { return nil }, 6 * day, false},
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
			f.license(t) // the newest event stays in any case
			events := f.purgeAll(t)
			is.Equal(events > 1, test.kept)
			failed, err := f.Deliveries(t.Context(), DeliveriesParams{WebhookID: w.ID, Status: DeliveryFailed})
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
		rec.State, rec.DueAt = string(DeliverySucceeded), time.Time{}
		return outbox.Put(t.Context(), tx, rec)
	}))
	f.purgeAll(t)
	page, err := f.Deliveries(t.Context(), DeliveriesParams{WebhookID: w.ID})
	is.NoErr(err)
	is.Equal(len(page.Data), 1)
}
