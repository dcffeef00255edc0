package webhook

import (
	"context"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/outbox"
	"github.com/seed-d8a106b4/licensekit/store"
)

// eventReader counts the events that a store returns.
type eventReader struct {
	store.Reader
	n int
}

func (r *eventReader) Events(ctx context.Context, q store.EventQuery) ([]store.Event, error) {
	events, err := r.Reader.Events(ctx, q)
	r.n += len(events)
	return events, err
}

// What waits is counted from the position of the webhook, without what is in its queue.
func TestWaitingReadsOnlyEventsAfterThePosition(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	w, _ := f.webhook(t, "license.created")
	for range 30 {
		f.license(t)
	}
	newest, _ := f.lastEvent(t)
	rec, err := f.findWebhook(t.Context(), f.store, w.ID)
	is.NoErr(err)
	waiting := func(position int64, queue ...outbox.Delivery) (n, read int) {
		r := &eventReader{Reader: f.store}
		n, more, err := f.waiting(t.Context(), r, rec, position, queue)
		is.NoErr(err)
		is.True(!more)
		return n, r.n
	}
	for after, want := range map[int64]int{newest.Seq - 30: 30, newest.Seq - 4: 4, newest.Seq: 0, newest.Seq + 9: 0} {
		n, read := waiting(after)
		is.Equal(n, want)
		is.Equal(read, want)
	}
	n, _ := waiting(newest.Seq-4, newDelivery(w.ID, newest, f.now))
	is.Equal(n, 3)
}
