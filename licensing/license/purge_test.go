package license_test

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/matryer/is"

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

// TestWhatAPausedWebhookWaitsForHoldsUpNobody: the events behind all that is
// under way are found without keeping others from writing.
//
// Fault: while a webhook is paused, every upkeep reads its deliveries in an
// Update.
func TestWhatAPausedWebhookWaitsForHoldsUpNobody(t *testing.T) {
	is := is.New(t)
	st, now := &readDeliveries{Store: memory.New()}, start
	s := license.New(st, license.Options{Now: func() time.Time { return now }, Events: license.EventOptions{Retention: 48 * time.Hour}})
	w, _, err := s.CreateWebhook(t.Context(), license.CreateWebhookParams{URL: "https://x.example/"})
	is.NoErr(err)
	for range 10 {
		_, err = s.TestWebhook(t.Context(), w.ID)
		is.NoErr(err)
	}
	now = now.Add(49 * time.Hour)
	_, err = s.PurgeHistory(t.Context())
	is.NoErr(err)
	is.Equal(st.n, 0)
	events, err := st.Events(t.Context(), store.EventQuery{})
	is.NoErr(err)
	is.Equal(len(events), 10) // all but the creation of the webhook, where the cursor stands
}

// TestTheNewestEventIsKept: a feed that moves to another store continues after
// the cursors that move with it.
func TestTheNewestEventIsKept(t *testing.T) {
	is := is.New(t)
	f := newFixture(t, func(o *license.Options) { o.Events.Retention = 48 * time.Hour })
	f.create(t)
	newest := f.create(t).ID
	page, err := f.Events(t.Context(), license.EventsParams{})
	is.NoErr(err)
	f.now = f.now.Add(49 * time.Hour)
	for more := true; more; {
		more, err = f.PurgeHistory(t.Context())
		is.NoErr(err)
	}
	events, err := f.store.Events(t.Context(), store.EventQuery{})
	is.NoErr(err)
	is.Equal(len(events), 1)
	is.Equal(events[0].Subject, newest)

	var archive bytes.Buffer
	moved := memory.New()
	is.NoErr(f.store.View(t.Context(), func(r store.Reader) error { return store.Export(t.Context(), r, &archive) }))
	is.NoErr(store.Import(t.Context(), moved, &archive))
	s := license.New(moved, license.Options{Now: func() time.Time { return f.now }})
	l, err := s.Create(t.Context(), plain())
	is.NoErr(err)
	after, err := s.Events(t.Context(), license.EventsParams{After: page.NextCursor})
	is.NoErr(err)
	is.Equal(len(after.Data), 1)
	is.Equal(after.Data[0].Subject, l.ID)
}
