package webhook

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/feed"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
	"github.com/seed-d8a106b4/licensekit/store"
)

// wants reports whether a webhook selects an event with its Types and
// Products. It never selects webhook.test, which Test sends.
func wants(w api.Webhook, e store.Event) bool {
	return e.Type != api.EventWebhookTest && feed.MatchTypes(w.Types, e.Type) && (w.Products == nil || slices.Contains(w.Products, e.ProductID))
}

const (
	webhookKind = "webhook" // kind of entries
	maxWebhooks = 1000
)

// Create adds a webhook and appends a webhook.created event. It
// returns the signing secret, "whsec_" and 44 characters, which cannot be
// read again. The webhook receives events from that time on. Create
// returns an [*api.InvalidError] or [api.ErrProductForbidden].
func (s *Service) Create(ctx context.Context, p api.CreateWebhookParams) (w api.Webhook, secret string, err error) {
	if broken := s.checkCreate(&p); len(broken) > 0 {
		return api.Webhook{}, "", &api.InvalidError{Fields: broken}
	}
	if limit := inner.Of(s.rules).Call().Caller.Products; p.Products == nil && limit != nil {
		p.Products = slices.Compact(slices.Sorted(slices.Values(limit)))
	}
	if !s.covers(p.Products) {
		return api.Webhook{}, "", api.ErrProductForbidden
	}
	err = s.update(ctx, func(tx *transaction) error {
		others, err := tx.Entries(ctx, store.EntryQuery{Kind: webhookKind, Limit: maxWebhooks})
		if err != nil {
			return err
		}
		if len(others) == maxWebhooks {
			return api.Invalid("url", api.FieldTooMany, fmt.Sprintf("cannot be added: the limit of %d webhooks is reached", maxWebhooks))
		}
		rec := webhookRecord{
			ID: store.NewID("whk", tx.now), URL: p.URL, Description: p.Description, Types: p.Types, Products: p.Products,
			Status: api.WebhookActive, CreatedBy: s.actor(), CreatedAt: tx.now, UpdatedAt: tx.now,
		}
		if secret, err = s.addSecret(&rec, tx.now); err != nil {
			return err
		}
		w = rec.webhook(tx.now)
		if err := tx.putWebhook(ctx, rec); err != nil {
			return err
		}
		if err := s.appendWebhook(ctx, tx, api.EventWebhookCreated, w, api.EventData{}); err != nil {
			return err
		}
		e, err := lastEvent(ctx, tx, w.ID)
		if err != nil {
			return err
		}
		return putCursor(ctx, tx, rec.ID, hookCursor{Position: e.Seq, UpdatedAt: tx.now})
	})
	if err != nil {
		return api.Webhook{}, "", fmt.Errorf("create webhook: %w", err)
	}
	return w, secret, nil
}

// Get returns the webhook with the given ID, and how many events it has not received yet:
// it examines up to about 10,000 events for that. It returns [api.ErrNotFound] or a wrapped
// store error.
func (s *Service) Get(ctx context.Context, id string) (api.Webhook, error) {
	rec, err := s.findWebhook(ctx, s.store(), id)
	if err != nil {
		return api.Webhook{}, err
	}
	b, err := internals{s}.Backlog(ctx, id)
	w := rec.webhook(s.now())
	w.Waiting, w.WaitingMore = &b.Events, b.More
	return w, err
}

// Update changes a webhook and appends a webhook.updated event. If
// nothing changes, it writes nothing. It returns [api.ErrNotFound] or an
// [*api.InvalidError].
func (s *Service) Update(ctx context.Context, p api.UpdateWebhookParams) (api.Webhook, error) {
	if broken := s.checkUpdate(&p); len(broken) > 0 {
		return api.Webhook{}, &api.InvalidError{Fields: broken}
	}
	return s.editWebhook(ctx, "update", p.ID, api.EventWebhookUpdated, func(tx *transaction, rec *webhookRecord) error {
		record.Set(&rec.URL, p.URL)
		record.Set(&rec.Description, p.Description)
		record.Set(&rec.Types, p.Types)
		if p.Status == nil {
			return nil
		}
		was := rec.Status
		rec.Status, rec.StatusReason = *p.Status, ""
		switch {
		case rec.Status == api.WebhookActive:
			rec.FailingSince, rec.FailedAt = time.Time{}, time.Time{}
			if was != api.WebhookActive {
				return tx.resume(ctx, rec, p.ResumeFrom)
			}
		case was == api.WebhookActive:
			return tx.checkCursor(ctx, *rec)
		}
		return nil
	})
}

// Delete removes a webhook with its deliveries and appends a
// webhook.deleted event. It returns [api.ErrNotFound] if the webhook does not
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
		if err := tx.DeleteEntries(ctx, cursorKind, id); err != nil {
			return err
		}
		// It may have many deliveries; purge removes them in batches.
		if err := tx.PutEntries(ctx, store.Entry{Kind: leftKind, Key: id, CreatedAt: tx.now}); err != nil {
			return err
		}
		err = s.appendWebhook(ctx, tx, api.EventWebhookDeleted, rec.webhook(tx.now), api.EventData{})
		return err
	})
	if err != nil {
		return fmt.Errorf("delete webhook: %w", err)
	}
	return nil
}

// Faults returns the errors in the parameters of a call, given as a pointer, as
// license.Service does.
func (s internals) Faults(params any) []api.FieldError {
	switch p := params.(type) {
	case *api.CreateWebhookParams:
		return s.checkCreate(p)
	case *api.UpdateWebhookParams:
		return s.checkUpdate(p)
	}
	return checkTags(params)
}

// checkCreate checks the fields of a new webhook. It sorts Types and removes
// duplicates.
func (s *Service) checkCreate(p *api.CreateWebhookParams) []api.FieldError {
	broken := checkTags(p)
	if p.URL != "" {
		if wrong := s.checkURL(p.URL); wrong != "" {
			broken = append(broken, api.FieldError{Field: "url", Code: api.FieldInvalidFormat, Detail: wrong})
		}
	}
	for i, t := range p.Types {
		if !feed.IsPattern(t, api.EventTypes()) {
			broken = append(broken, api.FieldError{Field: fmt.Sprintf("types/%d", i), Code: api.FieldUnknown, Detail: `must be an event type, or a family such as "license.*"`})
		}
	}
	p.Types = slices.Compact(slices.Sorted(slices.Values(p.Types)))
	if p.Products != nil && len(p.Products) == 0 {
		broken = append(broken, api.FieldError{Field: "products", Code: api.FieldRequired, Detail: "must list at least one product, or be omitted"})
	}
	return broken
}

// checkUpdate checks the fields that p sets, in a webhook of which all other
// fields are valid. It sorts Types and removes duplicates.
func (s *Service) checkUpdate(p *api.UpdateWebhookParams) []api.FieldError {
	next := api.CreateWebhookParams{URL: "https://localhost"}
	record.Set(&next.URL, p.URL)
	record.Set(&next.Description, p.Description)
	record.Set(&next.Types, p.Types)
	broken := append(s.checkCreate(&next), checkTags(p)...)
	if p.Types != nil {
		p.Types = &next.Types
	}
	if p.Status != nil && *p.Status != api.WebhookActive && *p.Status != api.WebhookPaused {
		broken = append(broken, api.FieldError{Field: "status", Code: api.FieldUnknown, Detail: "must be active or paused"})
	}
	return broken
}
