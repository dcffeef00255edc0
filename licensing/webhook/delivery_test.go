package webhook

import (
	"context"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/outbox"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store"
)

// A countedReader counts the entries and events that a store returns in a View.
type countedReader struct {
	store.Store
	n int
}

type countedView struct {
	store.Reader
	to *countedReader
}

func (r *countedReader) View(ctx context.Context, fn func(store.Reader) error) error {
	return r.Store.View(ctx, func(v store.Reader) error { return fn(countedView{v, r}) })
}

func (v countedView) Entries(ctx context.Context, q store.EntryQuery) ([]store.Entry, error) {
	entries, err := v.Reader.Entries(ctx, q)
	v.to.n += len(entries)
	return entries, err
}

func (v countedView) Events(ctx context.Context, q store.EventQuery) ([]store.Event, error) {
	events, err := v.Reader.Events(ctx, q)
	v.to.n += len(events)
	return events, err
}

// TestAPageExaminesABoundedNumber: a page of the deliveries with a rare status stops
// its search, and its cursor continues it. Paging lists each delivery once.
func TestAPageExaminesABoundedNumber(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	w, _ := f.webhook(t, api.EventLicenseDeleted)
	counted := &countedReader{Store: f.store}
	f.Service = open(license.New(counted, license.Options{Now: func() time.Time { return f.now }}), Options{})

	// appendEvents appends events, the first of which the webhook selects.
	appendEvents := func(n int) (events []store.Event) {
		f.now = f.now.Add(time.Minute)
		for i := range n {
			e := store.Event{ID: store.NewID("evt", f.now), Type: api.EventLicenseCreated, Time: f.now}
			if i == 0 {
				e.Type = api.EventLicenseDeleted
			}
			events = append(events, e)
		}
		is.NoErr(f.store.Update(t.Context(), func(tx store.Tx) error {
			if err := tx.AppendEvents(t.Context(), events...); err != nil {
				return err
			}
			newest, err := tx.Events(t.Context(), store.EventQuery{Descending: true, Limit: 1})
			for i := range events {
				events[i].Seq = newest[0].Seq - int64(len(events)-1-i)
			}
			return err
		}))
		return events
	}
	const many = examinedMost + 500
	var stored []outbox.Delivery
	for i, e := range appendEvents(many) {
		d := newDelivery(w.ID, e, f.now)
		switch i {
		case 0:
			d.State, d.DueAt = string(api.DeliveryFailed), time.Time{}
		case 1: // it is pending
		default:
			d.State, d.DueAt = string(api.DeliverySucceeded), time.Time{}
		}
		stored = append(stored, d)
	}
	is.NoErr(f.store.Update(t.Context(), func(tx store.Tx) error { return outbox.Put(t.Context(), tx, stored...) }))
	f.position(t, stored[many-1].EventSeq)
	appendEvents(many)

	walk := func(status api.DeliveryStatus, limit int) (ids map[string]api.DeliveryStatus, pages int) {
		t.Helper()
		ids = map[string]api.DeliveryStatus{}
		for p := (api.ListDeliveriesParams{WebhookID: w.ID, Status: status, Limit: limit}); ; {
			counted.n = 0
			page, err := f.Deliveries(t.Context(), p)
			is.NoErr(err)
			require.AtMost(t, counted.n, examinedMost+2*store.MaxLimit)
			for _, d := range page.Data {
				is.Equal(ids[d.ID], api.DeliveryStatus(""))
				ids[d.ID] = d.Status
			}
			is.Equal(page.HasMore, page.NextCursor != "")
			if pages++; !page.HasMore {
				return ids, pages
			}
			p.Cursor = page.NextCursor
		}
	}
	failed, pages := walk(api.DeliveryFailed, 10)
	is.Equal(failed, map[string]api.DeliveryStatus{stored[0].ID: api.DeliveryFailed})
	is.Equal(pages, 2)
	pending, pages := walk(api.DeliveryPending, 10)
	is.Equal(pending, map[string]api.DeliveryStatus{stored[1].ID: api.DeliveryPending})
	is.Equal(pages, 1)
	all, _ := walk("", 200)
	is.Equal(len(all), many)
}

// TestPagesOfTheQueue: paging lists each delivery of a paused webhook once.
func TestPagesOfTheQueue(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	w, _ := f.webhook(t, api.EventLicenseDeleted)
	_, err := f.Update(t.Context(), api.UpdateWebhookParams{ID: w.ID, Status: ptr(api.WebhookPaused)})
	is.NoErr(err)
	var want, got []string
	for range 3 {
		d, err := f.Test(t.Context(), w.ID)
		is.NoErr(err)
		want = append([]string{d.ID}, want...)
	}
	for p := (api.ListDeliveriesParams{WebhookID: w.ID, Status: api.DeliveryPending, Limit: 1}); ; {
		page, err := f.Deliveries(t.Context(), p)
		is.NoErr(err)
		got = append(got, page.Data[0].ID)
		if p.Cursor = page.NextCursor; p.Cursor == "" {
			break
		}
		require.Less(t, len(got), 4)
	}
	is.Equal(got, want)
}
