package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/feed"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/outbox"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
	"github.com/seed-d8a106b4/licensekit/store"
)

// Delivery returns one delivery to a webhook and the request body that an attempt
// sends now. The body is nil if the event is no longer stored. Delivery returns
// [api.ErrNotFound] if the webhook or the delivery does not exist.
func (s *Service) Delivery(ctx context.Context, webhookID, deliveryID string) (d api.Delivery, payload json.RawMessage, err error) {
	err = s.store().View(ctx, func(r store.Reader) error {
		hook, err := s.findWebhook(ctx, r, webhookID)
		if err != nil {
			return err
		}
		if !record.IsID("dlv", deliveryID) {
			return api.ErrNotFound
		}
		rec, err := outbox.Get(ctx, r, webhookID, deliveryID)
		if errors.Is(err, store.ErrNotFound) {
			rec, err = s.findWaiting(ctx, r, hook, deliveryID)
		}
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

// storedEvent returns the event of a delivery, or nil if it is no longer stored.
func storedEvent(ctx context.Context, r store.Reader, d outbox.Delivery) (*store.Event, error) {
	events, err := r.Events(ctx, store.EventQuery{After: d.EventSeq - 1, Limit: 1})
	if err != nil || len(events) == 0 || events[0].ID != d.EventID {
		return nil, err
	}
	return &events[0], nil
}
