package webhook

import (
	"context"
	"testing"

	"github.com/matryer/is"

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

// A list of deliveries reads only the events that the webhook has not received.
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
	waiting := func(after string) (ids []string, read int) {
		r := &eventReader{Reader: f.store}
		found, _, err := f.waiting(t.Context(), r, rec, after, 100)
		is.NoErr(err)
		for _, d := range found {
			ids = append(ids, d.ID)
		}
		return ids, r.n
	}
	all, read := waiting("")
	is.Equal(len(all), 30)
	is.Equal(all[0], deliveryID(w.ID, newest))
	is.Equal(read, 31) // and the newest event, which is read first
	rest, read := waiting(all[9])
	is.Equal(rest, all[10:])
	is.Equal(read, 20)

	f.position(t, newest.Seq-4)
	some, read := waiting("")
	is.Equal(some, all[:4])
	is.Equal(read, 5)
	f.position(t, newest.Seq)
	none, read := waiting("")
	is.Equal(len(none), 0)
	is.Equal(read, 1)
}
