package license

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/outbox"
	"github.com/seed-d8a106b4/licensekit/store"
)

// A Delivery is the delivery of one event to one webhook. Its JSON form is
// the API's.
type Delivery struct {
	Object    string         `json:"object"` // always "delivery"
	ID        string         `json:"id"`     // "dlv_" and 26 characters
	WebhookID string         `json:"webhook_id"`
	EventID   string         `json:"event_id"` // receivers see it as webhook-id
	EventType string         `json:"event_type"`
	Status    DeliveryStatus `json:"status"`
	// NextAttemptAt is when the next attempt may start; nil if none is
	// scheduled.
	NextAttemptAt *time.Time `json:"next_attempt_at"`
	Attempts      []Attempt  `json:"attempts"` // the last twenty, newest last
	CreatedAt     time.Time  `json:"created_at"`
	UpdatedAt     time.Time  `json:"updated_at"`
}

// A DeliveryStatus is the status of a delivery.
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
	StatusCode int       `json:"status_code"`     // of the response; 0: no response
	Error      string    `json:"error,omitempty"` // why it failed
	DurationMS int64     `json:"duration_ms"`
}

// DeliveryData is the JSON document in the Data of a store.Delivery. The
// record's State is a [DeliveryStatus]; its Attempts counts the attempts
// since the delivery was last started.
type DeliveryData struct {
	Attempts []Attempt `json:"attempts"`
}

// NewDelivery returns a new record for the delivery of e to a webhook. It is
// due immediately.
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

// fromDelivery converts a stored delivery to its API form.
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

// DeliveriesParams select deliveries to one webhook.
type DeliveriesParams struct {
	WebhookID string         `json:"-"`
	Status    DeliveryStatus `json:"status" validate:"omitempty,oneof=pending succeeded failed"` // empty: any
	Limit     int            `json:"limit" validate:"min=0,max=200"`                             // 0: 50
	Cursor    string         `json:"cursor"`                                                     // NextCursor of the previous page
}

// Deliveries returns a page of past and pending deliveries to a webhook,
// newest first. Finished deliveries are kept for
// WebhookOptions.DeliveryRetention. It returns [ErrNotFound] or an
// [*InvalidError].
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

// Resend sends an event to a webhook again, whatever the status of its
// delivery. An active webhook receives it immediately; if that fails, the
// retry schedule starts from the beginning. The receiver sees the same
// webhook-id. Resend returns [ErrNotFound] if the webhook or the delivery
// does not exist.
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

// TestWebhook sends a webhook.test event to one webhook, whatever types it
// subscribes to. It returns [ErrNotFound] if the webhook does not exist.
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
