package webhook

import (
	"context"
	"fmt"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/outbox"
	"github.com/seed-d8a106b4/licensekit/store"
)

// A backlog is what a webhook that fails has not received.
type backlog struct {
	Failure *api.Attempt // the last failed attempt of a delivery that is kept; nil: none
	Events  int          // that wait for an attempt
	More    bool         // there may be more than Events
	Next    time.Time    // when the next attempt is due; zero: none is
}

// Backlog returns what a webhook that fails has not received. It examines up to about
// 10,000 events.
func (s internals) Backlog(ctx context.Context, id string) (b backlog, err error) {
	err = s.store().View(ctx, func(r store.Reader) error {
		rec, err := s.findWebhook(ctx, r, id)
		if err != nil {
			return err
		}
		stored, err := queued(ctx, r, id, "")
		if err != nil {
			return err
		}
		cursor, err := readCursor(ctx, r, id)
		if err != nil {
			return err
		}
		waiting, more, err := s.waiting(ctx, r, rec, cursor.Position, stored)
		if err != nil {
			return err
		}
		b.Events, b.More = len(stored)+waiting, more
		if b.Next = cursor.Due; b.Next.IsZero() && waiting > 0 && rec.Status == api.WebhookActive {
			b.Next = s.now().Add(cursor.closesIn(s.now()))
		}
		b.Failure, err = lastFailure(ctx, r, id, stored)
		return err
	})
	if err != nil {
		return backlog{}, fmt.Errorf("backlog: %w", err)
	}
	return b, nil
}

// lastFailure returns the last failed attempt of the deliveries in the queue of a
// webhook or, if there is none, of the newest delivery that failed.
func lastFailure(ctx context.Context, r store.Reader, id string, stored []outbox.Delivery) (*api.Attempt, error) {
	last, err := lastFailed(stored)
	if err != nil || last != nil {
		return last, err
	}
	failed, _, err := newest(ctx, r, id, string(api.DeliveryFailed), "", 1)
	if err != nil {
		return nil, err
	}
	return lastFailed(failed)
}

// lastFailed returns the last failed attempt of deliveries; nil: there is none.
func lastFailed(list []outbox.Delivery) (last *api.Attempt, err error) {
	for _, d := range list {
		var data deliveryData
		if err := readData(d.Data, &data); err != nil {
			return nil, fmt.Errorf("delivery %s: %w", d.ID, err)
		}
		for _, a := range data.Attempts {
			if a.Error != "" && (last == nil || a.At.After(last.At)) {
				last = &a
			}
		}
	}
	return last, nil
}

// waiting counts the events that a webhook selects and that wait for their first attempt:
// those after its position, but for those of the deliveries in its queue. If it stops
// before the newest event, more is true.
func (s *Service) waiting(ctx context.Context, r store.Reader, rec webhookRecord, position int64, queue []outbox.Delivery) (n int, more bool, err error) {
	counted := make(map[int64]bool, len(queue))
	for _, d := range queue {
		counted[d.EventSeq] = true
	}
	w := rec.webhook(s.now())
	q := store.EventQuery{After: position, Limit: store.MaxLimit}
	for examined := 0; examined < examinedMost; examined += q.Limit {
		events, err := r.Events(ctx, q)
		for _, e := range events {
			if q.After = e.Seq; wants(w, e) && !counted[e.Seq] {
				n++
			}
		}
		if err != nil || len(events) < q.Limit {
			return n, false, err
		}
	}
	return n, true, nil
}
