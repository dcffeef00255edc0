package webhook

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/feed"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/outbox"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
	"github.com/seed-d8a106b4/licensekit/store"
)

// waiting lists the deliveries to a webhook that wait for their first attempt,
// newest first, after the one with an ID. The store has no record of them: they
// are the events after its position that the webhook selects. If it stops before
// it has found as many as limit, through is the ID of the last one that it has
// examined.
func (s *Service) waiting(ctx context.Context, r store.Reader, rec webhookRecord, after string, limit int) (found []outbox.Delivery, through string, err error) {
	cursor, err := readCursor(ctx, r, rec.ID)
	if err != nil {
		return nil, "", err
	}
	q := store.EventQuery{Descending: true, After: seqOf(after)}
	if after == "" {
		newest, err := feed.Newest(ctx, r)
		if err != nil {
			return nil, "", err
		}
		q.After = newest.Seq() + 1
	}
	w := rec.webhook(s.now())
	for examined := 0; examined < examinedMost; examined += q.Limit {
		if q.Limit = int(min(store.MaxLimit, q.After-1-cursor.Position)); q.Limit <= 0 {
			return found, "", nil
		}
		events, err := r.Events(ctx, q)
		if err != nil {
			return nil, "", err
		}
		for _, e := range events {
			if e.Seq <= cursor.Position {
				return found, "", nil
			}
			if q.After = e.Seq; wants(w, e) {
				found = append(found, s.waitingDelivery(rec, e))
			}
			through = deliveryID(rec.ID, e)
		}
		if len(events) < q.Limit || len(found) >= limit {
			return found, "", nil
		}
	}
	return found, through, nil
}

func (s *Service) waitingDelivery(rec webhookRecord, e store.Event) outbox.Delivery {
	d := newDelivery(rec.ID, e, s.now())
	if rec.Status != api.WebhookActive {
		d.DueAt = time.Time{}
	}
	return d
}

// findWaiting returns the delivery with an ID that waits for its first attempt.
func (s *Service) findWaiting(ctx context.Context, r store.Reader, rec webhookRecord, id string) (outbox.Delivery, error) {
	cursor, err := readCursor(ctx, r, rec.ID)
	if err != nil {
		return outbox.Delivery{}, err
	}
	if seq := seqOf(id); record.IsID("dlv", id) && seq > cursor.Position {
		events, err := r.Events(ctx, store.EventQuery{After: seq - 1, Limit: 1})
		if err != nil {
			return outbox.Delivery{}, err
		}
		if len(events) > 0 && deliveryID(rec.ID, events[0]) == id && wants(rec.webhook(s.now()), events[0]) {
			return s.waitingDelivery(rec, events[0]), nil
		}
	}
	return outbox.Delivery{}, fmt.Errorf("delivery %s: %w", id, api.ErrNotFound)
}

// mergeNewest returns the newest deliveries of two lists, each newest first. Of
// two with the same ID it returns the one in stored.
func mergeNewest(stored, waiting []outbox.Delivery, limit int) []outbox.Delivery {
	all := append(slices.Clone(stored), waiting...)
	slices.SortStableFunc(all, func(a, b outbox.Delivery) int { return cmp.Compare(b.ID, a.ID) })
	all = slices.CompactFunc(all, func(a, b outbox.Delivery) bool { return a.ID == b.ID })
	return all[:min(limit, len(all))]
}
