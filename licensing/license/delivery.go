package license

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/outbox"
	"github.com/seed-d8a106b4/licensekit/store"
)

// A Delivery is one event on its way to one webhook, or how it went. Its JSON
// is its form on the wire.
type Delivery struct {
	Object    string         `json:"object"` // always "delivery"
	ID        string         `json:"id"`     // "dlv_" and 26 characters
	WebhookID string         `json:"webhook_id"`
	EventID   string         `json:"event_id"` // also the webhook-id that receivers see
	EventType string         `json:"event_type"`
	Status    DeliveryStatus `json:"status"`
	// NextAttemptAt is when the next attempt may start; nil: none will,
	// unless it is sent again by hand.
	NextAttemptAt *time.Time `json:"next_attempt_at"`
	Attempts      []Attempt  `json:"attempts"` // the last twenty, the newest last
	CreatedAt     time.Time  `json:"created_at"`
	UpdatedAt     time.Time  `json:"updated_at"`
}

// A DeliveryStatus says how far a delivery has come.
type DeliveryStatus string

// The statuses of a delivery. One has failed when it has been tried ten times
// over three days.
const (
	DeliveryPending   DeliveryStatus = "pending"
	DeliverySucceeded DeliveryStatus = "succeeded"
	DeliveryFailed    DeliveryStatus = "failed"
)

// An Attempt is one request to a webhook.
type Attempt struct {
	At         time.Time `json:"at"`
	StatusCode int       `json:"status_code"`     // of the answer; 0: there was none
	Error      string    `json:"error,omitempty"` // why it failed, in a few words
	DurationMS int64     `json:"duration_ms"`
}

// DeliveryData is the JSON document in the Data of an outbox.Delivery, whose
// State is a [DeliveryStatus] and whose Attempts counts those since it was
// last begun.
type DeliveryData struct {
	Attempts []Attempt `json:"attempts"`
}

// NewDelivery returns the record of an event's delivery to a webhook, due
// since the event.
func NewDelivery(webhookID string, e store.Event, now time.Time) outbox.Delivery {
	due := e.Time
	if due.After(now) {
		due = now
	}
	return outbox.Delivery{
		ID: store.NewID("dlv", now), WebhookID: webhookID, EventID: e.ID, EventSeq: e.Seq, EventType: e.Type,
		State: string(DeliveryPending), DueAt: due, CreatedAt: now, UpdatedAt: now,
	}
}

// fromDelivery returns a stored delivery in its form on the wire.
func fromDelivery(rec outbox.Delivery) (Delivery, error) {
	data := DeliveryData{Attempts: []Attempt{}}
	if err := decode(rec.Data, &data); err != nil {
		return Delivery{}, fmt.Errorf("delivery %s: %w", rec.ID, err)
	}
	return Delivery{
		Object: "delivery", ID: rec.ID, WebhookID: rec.WebhookID, EventID: rec.EventID, EventType: rec.EventType,
		Status: DeliveryStatus(rec.State), NextAttemptAt: optionalTime(rec.DueAt), Attempts: data.Attempts,
		CreatedAt: rec.CreatedAt, UpdatedAt: rec.UpdatedAt,
	}, nil
}

// DeliveriesParams select the deliveries to one webhook.
type DeliveriesParams struct {
	WebhookID string         `json:"-"`
	Status    DeliveryStatus `json:"status" validate:"omitempty,oneof=pending succeeded failed"` // empty: any
	Limit     int            `json:"limit" validate:"min=0,max=200"`                             // 0: 50
	Cursor    string         `json:"cursor"`                                                     // the NextCursor of the page before
}

// Deliveries lists what was and what will be sent to a webhook, the newest
// first, as far as it is kept (WebhookOptions.DeliveryRetention). The
// error is [ErrNotFound] or an [*InvalidError].
func (s *Service) Deliveries(ctx context.Context, p DeliveriesParams) (Page[Delivery], error) {
	if err := check(ctx, p); err != nil {
		return Page[Delivery]{}, err
	}
	if p.Limit == 0 {
		p.Limit = defaultLimit
	}
	start := cursor{scope: scopeOf("deliveries %q %q", p.WebhookID, p.Status)}
	if p.Cursor != "" {
		var ok bool
		if start, ok = parseCursor(p.Cursor, start.scope, "dlv"); !ok {
			return Page[Delivery]{}, errCursor
		}
	} else {
		start.pinned = s.now()
	}
	var recs []outbox.Delivery
	err := s.view(ctx, func(r store.Reader) error {
		if _, err := s.findWebhook(ctx, r, p.WebhookID); err != nil {
			return err
		}
		var err error
		recs, err = newest(ctx, r, p.WebhookID, string(p.Status), start.after.ID, p.Limit+1)
		return err
	})
	if err != nil {
		return Page[Delivery]{}, fmt.Errorf("deliveries: %w", err)
	}
	var page Page[Delivery]
	if len(recs) > p.Limit {
		recs = recs[:p.Limit]
		start.after.ID = recs[p.Limit-1].ID
		page.HasMore, page.NextCursor = true, start.String()
	}
	page.Data = make([]Delivery, len(recs))
	for i, rec := range recs {
		if page.Data[i], err = fromDelivery(rec); err != nil {
			return Page[Delivery]{}, err
		}
	}
	return page, nil
}

// newest lists the deliveries to a webhook that have a state, the newest first.
func newest(ctx context.Context, r store.Reader, webhookID, state, after string, limit int) (found []outbox.Delivery, err error) {
	for {
		page, err := outbox.Newest(ctx, r, webhookID, after, limit)
		if err != nil {
			return nil, err
		}
		for _, d := range page {
			if after = d.ID; state == "" || d.State == state {
				found = append(found, d)
			}
		}
		if len(found) >= limit {
			return found[:limit], nil
		}
		if len(page) < limit {
			return found, nil
		}
	}
}

// Resend sends an event to a webhook again, whatever became of its delivery:
// at once if the webhook is active, and then, if that fails, by the schedule
// from its beginning. The receiver sees the same webhook-id. The error is
// [ErrNotFound].
func (s *Service) Resend(ctx context.Context, webhookID, deliveryID string) (d Delivery, err error) {
	err = s.update(ctx, func(tx *transaction) error {
		if _, err := s.findWebhook(ctx, tx, webhookID); err != nil {
			return err
		}
		rec, err := outbox.Get(ctx, tx, webhookID, deliveryID)
		if errors.Is(err, store.ErrNotFound) {
			return fmt.Errorf("delivery %s: %w", deliveryID, ErrNotFound)
		}
		if err != nil {
			return err
		}
		rec.State, rec.DueAt, rec.Attempts, rec.UpdatedAt = string(DeliveryPending), tx.now, 0, tx.now
		if err := outbox.Put(ctx, tx, rec); err != nil {
			return err
		}
		d, err = fromDelivery(rec)
		return err
	})
	if err != nil {
		return Delivery{}, fmt.Errorf("resend: %w", err)
	}
	return d, nil
}

// TestWebhook sends an event of the type "webhook.test" to one webhook,
// whatever types it is for. The error is [ErrNotFound].
func (s *Service) TestWebhook(ctx context.Context, id string) (d Delivery, err error) {
	err = s.update(ctx, func(tx *transaction) error {
		rec, err := s.findWebhook(ctx, tx, id)
		if err != nil {
			return err
		}
		w := rec.webhook(tx.now)
		w.URL = origin(w.URL)
		e := store.Event{
			ID: store.NewID("evt", tx.now), Type: EventWebhookTest, Time: tx.now,
			Actor: s.actor(), RequestID: s.caller.RequestID, Subject: id, Data: encode(EventData{Webhook: &w}),
		}
		if e.Seq, err = tx.AppendEvent(ctx, e); err != nil {
			return err
		}
		made := NewDelivery(id, e, tx.now)
		if err := outbox.Put(ctx, tx, made); err != nil {
			return err
		}
		d, err = fromDelivery(made)
		return err
	})
	if err != nil {
		return Delivery{}, fmt.Errorf("test webhook: %w", err)
	}
	return d, nil
}
