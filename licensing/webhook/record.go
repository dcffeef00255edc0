package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/entries"
	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/internal/rotation"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
	"github.com/seed-d8a106b4/licensekit/store"
)

// A webhookRecord is the data of a webhook entry.
type webhookRecord struct {
	ID           string            `json:"id"`
	URL          string            `json:"url"`
	Description  string            `json:"description,omitempty"`
	Types        []string          `json:"types,omitempty"`
	Products     []string          `json:"products,omitempty"`
	Status       api.WebhookStatus `json:"status"`
	StatusReason string            `json:"status_reason,omitempty"`
	FailingSince time.Time         `json:"failing_since,omitzero"`
	FailedAt     time.Time         `json:"failed_at,omitzero"`   // the last failure, precise to the hour
	Skipped      int64             `json:"skipped,omitempty"`    // events
	Secrets      []webhookSecret   `json:"secrets"`              // newest first
	CreatedBy    string            `json:"created_by,omitempty"` // the actor
	CreatedAt    time.Time         `json:"created_at"`
	UpdatedAt    time.Time         `json:"updated_at"`
}

func readWebhookEntry(e store.Entry) (rec webhookRecord, err error) {
	if err := json.Unmarshal(e.Data, &rec); err != nil {
		return webhookRecord{}, fmt.Errorf("webhook %s: %w", e.Key, err)
	}
	return rec, nil
}

// webhook converts a record to its state at an instant.
func (rec webhookRecord) webhook(at time.Time) api.Webhook {
	w := api.Webhook{
		Object: "webhook", ID: rec.ID, URL: rec.URL, Description: rec.Description,
		Types: append([]string{}, rec.Types...), Products: slices.Clone(rec.Products),
		Status: rec.Status, StatusReason: rec.StatusReason, FailingSince: record.OptionalTime(rec.FailingSince), SkippedEvents: rec.Skipped,
		Secrets: []api.WebhookSecret{}, CreatedBy: rec.CreatedBy, CreatedAt: rec.CreatedAt, UpdatedAt: rec.UpdatedAt,
	}
	for _, secret := range rotation.Valid(rec.Secrets, at) {
		w.Secrets = append(w.Secrets, api.WebhookSecret{CreatedAt: secret.CreatedAt, ExpiresAt: record.OptionalTime(secret.ExpiresAt)})
	}
	return w
}

// findWebhook returns the record with the given ID if it exists for the caller.
func (s *Service) findWebhook(ctx context.Context, r store.Reader, id string) (rec webhookRecord, err error) {
	if !record.IsID("whk", id) {
		return rec, fmt.Errorf("webhook: %w", api.ErrNotFound)
	}
	e, err := r.Entry(ctx, webhookKind, id)
	if errors.Is(err, store.ErrNotFound) {
		return rec, fmt.Errorf("webhook %q: %w", id, api.ErrNotFound)
	}
	if err != nil {
		return rec, fmt.Errorf("webhook %s: %w", id, err)
	}
	if rec, err = readWebhookEntry(e); err != nil {
		return rec, err
	}
	if !s.covers(rec.Products) {
		return webhookRecord{}, fmt.Errorf("webhook %q: %w", id, api.ErrNotFound)
	}
	return rec, nil
}

// putWebhook stores a webhook.
func (tx *transaction) putWebhook(ctx context.Context, rec webhookRecord) error {
	return tx.PutEntries(ctx, store.Entry{Kind: webhookKind, Key: rec.ID, Data: record.Encode(rec), CreatedAt: rec.CreatedAt})
}

// troubledSince returns since when a webhook fails or is disabled; zero: neither.
func (rec webhookRecord) troubledSince() time.Time {
	if rec.FailingSince.IsZero() && rec.Status == api.WebhookDisabled {
		return rec.UpdatedAt
	}
	return rec.FailingSince
}

// editWebhook applies one change to a webhook and appends an event. If
// nothing changes, it writes nothing.
func (s *Service) editWebhook(ctx context.Context, verb, id, event string, apply func(*transaction, *webhookRecord) error) (w api.Webhook, err error) {
	err = s.update(ctx, func(tx *transaction) error {
		rec, err := s.findWebhook(ctx, tx, id)
		if err != nil {
			return err
		}
		w, err = s.replace(ctx, tx, rec, event, apply)
		return err
	})
	if err != nil {
		return api.Webhook{}, fmt.Errorf("%s webhook: %w", verb, err)
	}
	return w, nil
}

// replace is editWebhook of a webhook that has been read, within an Update.
func (s *Service) replace(ctx context.Context, tx *transaction, rec webhookRecord, event string, apply func(*transaction, *webhookRecord) error) (api.Webhook, error) {
	before, next := rec.webhook(tx.now), rec
	if err := apply(tx, &next); err != nil || reflect.DeepEqual(rec, next) {
		return before, err
	}
	changes := diffWebhook(before, next.webhook(tx.now))
	if !reflect.DeepEqual(rec.Secrets, next.Secrets) {
		changes["secrets"] = api.FieldChange{From: before.Secrets, To: next.webhook(tx.now).Secrets}
	}
	if len(changes) > 0 {
		next.UpdatedAt = tx.now
	}
	w := next.webhook(tx.now)
	if err := tx.putWebhook(ctx, next); err != nil || len(changes) == 0 {
		return w, err
	}
	return w, s.appendWebhook(ctx, tx, event, w, api.EventData{Changes: changes, Reason: next.StatusReason})
}

// appendWebhook adds an event about w to the feed.
func (s *Service) appendWebhook(ctx context.Context, tx *transaction, eventType string, w api.Webhook, data api.EventData) error {
	w.URL = origin(w.URL)
	data.Webhook = &w
	return tx.AppendEvents(ctx, store.Event{
		ID: store.NewID("evt", tx.now), Type: eventType, Time: tx.now,
		Actor: s.actor(), RequestID: inner.Of(s.rules).Call().Caller.RequestID, Subject: w.ID, Data: record.Encode(data),
	})
}

// lastEvent returns the event that was last appended about a webhook, with its Seq.
func lastEvent(ctx context.Context, tx *transaction, webhookID string) (store.Event, error) {
	events, err := tx.Events(ctx, store.EventQuery{Subject: webhookID, Descending: true, Limit: 1})
	if err != nil {
		return store.Event{}, err
	}
	return events[0], nil
}

// diffWebhook returns the fields in which two states of a webhook differ,
// except secrets, health and internal fields.
func diffWebhook(before, after api.Webhook) map[string]api.FieldChange {
	changes := make(map[string]api.FieldChange)
	note := func(name string, from, to any) {
		if !reflect.DeepEqual(from, to) {
			changes[name] = api.FieldChange{From: from, To: to}
		}
	}
	note("description", before.Description, after.Description)
	note("types", before.Types, after.Types)
	note("status", before.Status, after.Status)
	if before.URL != after.URL {
		changes["url"] = api.FieldChange{From: origin(before.URL), To: origin(after.URL)}
	}
	return changes
}

// origin returns the scheme and host of a URL. The rest often contains
// credentials, which must not appear in events.
func origin(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

// readAll returns the records of all webhooks, oldest first.
func readAll(ctx context.Context, r store.Reader) (all []webhookRecord, err error) {
	for e, err := range entries.All(ctx, r, store.EntryQuery{Kind: webhookKind}) {
		var rec webhookRecord
		if err == nil {
			rec, err = readWebhookEntry(e)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, rec)
	}
	return all, nil
}
