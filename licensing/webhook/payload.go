package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/feed"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/outbox"
	"github.com/seed-d8a106b4/licensekit/store"
)

// Delivery returns one delivery to a webhook and the request body that an attempt
// sends now. The body is nil if the event is no longer stored. Delivery returns
// [api.ErrNotFound] if the webhook or the delivery does not exist.
func (s *Service) Delivery(ctx context.Context, webhookID, deliveryID string) (d api.Delivery, payload json.RawMessage, err error) {
	err = s.store().View(ctx, func(r store.Reader) error {
		if _, err := s.findWebhook(ctx, r, webhookID); err != nil {
			return err
		}
		rec, err := findDelivery(ctx, r, webhookID, deliveryID)
		if err != nil {
			return err
		}
		if d, err = fromDelivery(rec); err != nil {
			return err
		}
		e, err := storedEvent(ctx, r, rec)
		if err != nil || e == nil {
			return err
		}
		m, err := newMessage(feed.NewEvent(*e))
		payload = m.body
		return err
	})
	if err != nil {
		return api.Delivery{}, nil, fmt.Errorf("delivery: %w", err)
	}
	return d, payload, nil
}

// findDelivery returns the stored delivery with an ID, or [api.ErrNotFound].
func findDelivery(ctx context.Context, r store.Reader, webhookID, id string) (outbox.Delivery, error) {
	d, err := outbox.Get(ctx, r, webhookID, id)
	if errors.Is(err, store.ErrNotFound) {
		err = fmt.Errorf("delivery %q: %w", id, api.ErrNotFound)
	}
	return d, err
}

// storedEvent returns the event of a delivery, or nil if it is no longer stored.
func storedEvent(ctx context.Context, r store.Reader, d outbox.Delivery) (*store.Event, error) {
	events, err := r.Events(ctx, store.EventQuery{After: d.EventSeq - 1, Limit: 1})
	if err != nil || len(events) == 0 || events[0].ID != d.EventID {
		return nil, err
	}
	return &events[0], nil
}
