package webhook

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/core/feed"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/core/record"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store"
)

// wants reports whether a webhook selects an event with its Types and
// Products. It never selects webhook.test, which Test sends.
func wants(w Webhook, e store.Event) bool {
	return e.Type != EventTest && feed.MatchTypes(w.Types, e.Type) && (w.Products == nil || slices.Contains(w.Products, e.ProductID))
}

const (
	EventCreated  = api.EventWebhookCreated
	EventUpdated  = api.EventWebhookUpdated
	EventDisabled = api.EventWebhookDisabled
	EventDeleted  = api.EventWebhookDeleted
	EventTest     = api.EventWebhookTest
)

const (
	webhookKind = "webhook" // kind of entries
	maxWebhooks = 1000
)

// Create adds a webhook and appends a webhook.created event. It
// returns the signing secret, "whsec_" and 44 characters, which cannot be
// read again. The webhook receives events from that time on. Create
// returns an [*license.InvalidError] or [license.ErrProductForbidden].
func (s *Service) Create(ctx context.Context, p CreateParams) (w Webhook, secret string, err error) {
	if broken := s.checkCreate(&p); len(broken) > 0 {
		return Webhook{}, "", &license.InvalidError{Fields: broken}
	}
	if limit := inner.Of(s.rules).Caller().Products; p.Products == nil && limit != nil {
		p.Products = slices.Compact(slices.Sorted(slices.Values(limit)))
	}
	if !s.covers(p.Products) {
		return Webhook{}, "", license.ErrProductForbidden
	}
	err = s.update(ctx, func(tx *transaction) error {
		others, err := tx.Entries(ctx, store.EntryQuery{Kind: webhookKind, Limit: maxWebhooks})
		if err != nil {
			return err
		}
		if len(others) == maxWebhooks {
			return license.Invalid("url", license.CodeTooMany, fmt.Sprintf("cannot be added: the limit of %d webhooks is reached", maxWebhooks))
		}
		rec := webhookRecord{
			ID: store.NewID("whk", tx.now), URL: p.URL, Description: p.Description, Types: p.Types, Products: p.Products,
			Status: StatusActive, CreatedBy: s.actor(), CreatedAt: tx.now, UpdatedAt: tx.now,
		}
		if secret, err = s.addSecret(&rec, tx.now); err != nil {
			return err
		}
		w = rec.webhook(tx.now)
		if err := tx.putWebhook(ctx, rec); err != nil {
			return err
		}
		e, err := s.appendWebhook(ctx, tx, EventCreated, w, EventData{})
		if err != nil {
			return err
		}
		return putCursor(ctx, tx, rec.ID, hookCursor{Position: e.Seq, UpdatedAt: tx.now})
	})
	if err != nil {
		return Webhook{}, "", fmt.Errorf("create webhook: %w", err)
	}
	return w, secret, nil
}

// Get returns the webhook with the given ID, or [license.ErrNotFound].
func (s *Service) Get(ctx context.Context, id string) (Webhook, error) {
	rec, err := s.findWebhook(ctx, s.store(), id)
	return rec.webhook(s.now()), err
}

// Update changes a webhook and appends a webhook.updated event. If
// nothing changes, it writes nothing. It returns [license.ErrNotFound] or an
// [*license.InvalidError].
func (s *Service) Update(ctx context.Context, p UpdateParams) (Webhook, error) {
	if broken := s.checkUpdate(&p); len(broken) > 0 {
		return Webhook{}, &license.InvalidError{Fields: broken}
	}
	return s.editWebhook(ctx, "update", p.ID, EventUpdated, func(tx *transaction, rec *webhookRecord) error {
		record.Set(&rec.URL, p.URL)
		record.Set(&rec.Description, p.Description)
		record.Set(&rec.Types, p.Types)
		if p.Status == nil {
			return nil
		}
		was := rec.Status
		rec.Status, rec.StatusReason = *p.Status, ""
		switch {
		case rec.Status == StatusActive:
			rec.FailingSince, rec.FailedAt = time.Time{}, time.Time{}
			if was != StatusActive {
				return tx.resume(ctx, rec, p.ResumeFrom)
			}
		case was == StatusActive:
			return tx.checkCursor(ctx, *rec)
		}
		return nil
	})
}

// Delete removes a webhook with its deliveries and appends a
// webhook.deleted event. It returns [license.ErrNotFound] if the webhook does not
// exist.
func (s *Service) Delete(ctx context.Context, id string) error {
	err := s.update(ctx, func(tx *transaction) error {
		rec, err := s.findWebhook(ctx, tx, id)
		if err != nil {
			return err
		}
		if err := tx.DeleteEntries(ctx, webhookKind, id); err != nil {
			return err
		}
		if err := tx.DeleteEntries(ctx, cursorKind, id); err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		// It may have many deliveries; purge removes them in batches.
		if err := tx.PutEntries(ctx, store.Entry{Kind: leftKind, Key: id, CreatedAt: tx.now}); err != nil {
			return err
		}
		_, err = s.appendWebhook(ctx, tx, EventDeleted, rec.webhook(tx.now), EventData{})
		return err
	})
	if err != nil {
		return fmt.Errorf("delete webhook: %w", err)
	}
	return nil
}

// Faults returns the errors in the parameters of a call, given as a pointer, as
// license.Service does.
func (s internals) Faults(params any) []license.FieldError {
	switch p := params.(type) {
	case *CreateParams:
		return s.checkCreate(p)
	case *UpdateParams:
		return s.checkUpdate(p)
	}
	return checkTags(params)
}

// checkCreate checks the fields of a new webhook. It sorts Types and removes
// duplicates.
func (s *Service) checkCreate(p *CreateParams) []license.FieldError {
	broken := checkTags(p)
	if p.URL != "" {
		if wrong := s.checkURL(p.URL); wrong != "" {
			broken = append(broken, license.FieldError{Field: "url", Code: license.CodeInvalidFormat, Detail: wrong})
		}
	}
	for i, t := range p.Types {
		if !feed.IsPattern(t, license.EventTypes()) {
			broken = append(broken, license.FieldError{Field: fmt.Sprintf("types/%d", i), Code: license.CodeUnknown, Detail: `must be an event type, or a family such as "license.*"`})
		}
	}
	p.Types = slices.Compact(slices.Sorted(slices.Values(p.Types)))
	if p.Products != nil && len(p.Products) == 0 {
		broken = append(broken, license.FieldError{Field: "products", Code: license.CodeRequired, Detail: "must list at least one product, or be omitted"})
	}
	return broken
}

// checkUpdate checks the fields that p sets, in a webhook of which all other
// fields are valid. It sorts Types and removes duplicates.
func (s *Service) checkUpdate(p *UpdateParams) []license.FieldError {
	next := CreateParams{URL: "https://localhost"}
	record.Set(&next.URL, p.URL)
	record.Set(&next.Description, p.Description)
	record.Set(&next.Types, p.Types)
	broken := append(s.checkCreate(&next), checkTags(p)...)
	if p.Types != nil {
		p.Types = &next.Types
	}
	if p.Status != nil && *p.Status != StatusActive && *p.Status != StatusPaused {
		broken = append(broken, license.FieldError{Field: "status", Code: license.CodeUnknown, Detail: "must be active or paused"})
	}
	return broken
}
