package license

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

// A Webhook is an endpoint that events are sent to. Its JSON is its form on
// the wire.
type Webhook struct {
	Object      string `json:"object"` // always "webhook"
	ID          string `json:"id"`     // "whk_" and 26 characters
	URL         string `json:"url"`
	Description string `json:"description"`
	// Types are the types of events that are sent, or families such as
	// "license.*". Empty: all. Never nil.
	Types []string `json:"types"`
	// Products are the products whose events are sent. Nil: those of all,
	// and those that belong to none.
	Products     []string      `json:"products"`
	Status       WebhookStatus `json:"status"`
	StatusReason string        `json:"status_reason,omitempty"` // why it is disabled
	FailingSince *time.Time    `json:"failing_since"`           // when deliveries began to fail, all of them; nil: they do not
	// Secrets are the secrets that deliveries are signed with, the newest
	// first: one, or two for as long as a rotation overlaps.
	Secrets   []WebhookSecret `json:"secrets"`
	CreatedAt time.Time       `json:"created_at"`
	UpdatedAt time.Time       `json:"updated_at"`

	// CreatedBy is the actor that created it, as in [Caller]. An API client's
	// webhook is sent only what that client may see at the time of sending.
	CreatedBy string `json:"-"`
}

// A WebhookSecret is what is known of a secret once it has been shown.
type WebhookSecret struct {
	CreatedAt time.Time  `json:"created_at"`
	ExpiresAt *time.Time `json:"expires_at"` // nil: in use until it is rotated
}

// A WebhookStatus says what becomes of events.
type WebhookStatus string

// The statuses of a webhook. To an active one, events are sent. For a paused
// one they wait for as long as retention keeps them. A disabled one, which has failed for
// days or has answered 410, gets none, and those under way wait; made active
// again, it gets these, and what happens from then on.
const (
	WebhookActive   WebhookStatus = "active"
	WebhookPaused   WebhookStatus = "paused"
	WebhookDisabled WebhookStatus = "disabled"
)

// Wants reports whether an event is one that the webhook is for, if it came
// after the webhook.
func (w Webhook) Wants(e store.Event) bool {
	if w.Status == WebhookDisabled || e.Type == EventWebhookTest {
		return false
	}
	return MatchTypes(w.Types, e.Type) && (w.Products == nil || slices.Contains(w.Products, e.ProductID))
}

const (
	webhookKind = "webhook" // of entries
	maxWebhooks = 100       // in one store
)

// WebhookCursor is the key of the store.KindCursor entry that says how far
// the feed has been handed on to webhooks. The first webhook makes it.
const WebhookCursor = "webhook"

// CreateWebhookParams are the fields of a new webhook. Only URL is required.
type CreateWebhookParams struct {
	// URL is where events are sent: https, or http as well with
	// WebhookOptions.AllowPrivate, without user and fragment, at most
	// 2,048 characters. Whether its address may be called is judged with
	// every delivery.
	URL         string   `json:"url" validate:"required,wellformed,max=2048"`
	Description string   `json:"description" validate:"omitempty,text"`
	Types       []string `json:"types" validate:"max=50"`               // as in [Webhook]
	Products    []string `json:"products" validate:"max=100,dive,text"` // as in [Webhook]; a caller who is limited: nil means all of its own
}

// CreateWebhook adds a webhook, appends "webhook.created", and returns the
// secret that its deliveries are signed with, "whsec_" and 44 characters, this
// once. It gets the events from then on. The error is an [*InvalidError], or
// [ErrProductForbidden].
func (s *Service) CreateWebhook(ctx context.Context, p CreateWebhookParams) (w Webhook, secret string, err error) {
	broken := s.checkWebhook(&p.URL, &p.Types)
	if p.Products != nil && len(p.Products) == 0 {
		broken = append(broken, FieldError{Field: "products", Code: CodeRequired, Detail: "must name a product, or be left out"})
	}
	if broken = append(checkTags(ctx, p), broken...); len(broken) > 0 {
		return Webhook{}, "", &InvalidError{Fields: broken}
	}
	if p.Products == nil && s.caller.Products != nil {
		p.Products = s.products()
	}
	if !s.covers(p.Products) || s.caller.Products != nil && len(p.Products) == 0 {
		return Webhook{}, "", ErrProductForbidden
	}
	err = s.update(ctx, func(tx *transaction) error {
		others, err := tx.Entries(ctx, store.EntryQuery{Kind: webhookKind, Limit: maxWebhooks})
		if err != nil {
			return err
		}
		if len(others) == maxWebhooks {
			return Invalid("url", CodeTooMany, fmt.Sprintf("cannot be added: there are %d webhooks, which is the most", maxWebhooks))
		}
		rec := webhookRecord{
			ID: store.NewID("whk", tx.now), URL: p.URL, Description: p.Description, Types: p.Types, Products: p.Products,
			Status: WebhookActive, CreatedBy: s.actor(), CreatedAt: tx.now, UpdatedAt: tx.now,
		}
		if secret, err = s.addSecret(&rec, tx.now); err != nil {
			return err
		}
		w = rec.webhook(tx.now)
		if err := tx.putWebhook(ctx, rec); err != nil {
			return err
		}
		seq, err := s.appendWebhook(ctx, tx, EventWebhookCreated, w, EventData{})
		if err != nil {
			return err
		}
		return tx.beginCursor(ctx, WebhookCursor, seq)
	})
	if err != nil {
		return Webhook{}, "", fmt.Errorf("create webhook: %w", err)
	}
	return w, secret, nil
}

// beginCursor makes a cursor at seq unless there is one.
func (tx *transaction) beginCursor(ctx context.Context, key string, seq int64) error {
	if _, err := tx.Entry(ctx, store.KindCursor, key); !errors.Is(err, store.ErrNotFound) {
		return err
	}
	return tx.PutEntries(ctx, store.Entry{Kind: store.KindCursor, Key: key, Data: fmt.Append(nil, seq), CreatedAt: tx.now})
}

// Webhook returns the webhook with that id, or [ErrNotFound].
func (s *Service) Webhook(ctx context.Context, id string) (Webhook, error) {
	rec, err := s.findWebhook(ctx, s.reader(), id)
	return rec.webhook(s.now()), err
}

// Webhooks returns all webhooks, at most a hundred, in order of creation. A
// caller who is limited to some products sees those that are for no other.
func (s *Service) Webhooks(ctx context.Context) ([]Webhook, error) {
	entries, err := s.reader().Entries(ctx, store.EntryQuery{Kind: webhookKind})
	if err != nil {
		return nil, fmt.Errorf("webhooks: %w", err)
	}
	all := make([]Webhook, 0, len(entries))
	for _, e := range entries {
		var rec webhookRecord
		if err := decode(e.Data, &rec); err != nil {
			return nil, fmt.Errorf("webhook %s: %w", e.Key, err)
		}
		if s.covers(rec.Products) {
			all = append(all, rec.webhook(s.now()))
		}
	}
	return all, nil
}

// UpdateWebhookParams say which webhook to change and how. What is nil stays.
type UpdateWebhookParams struct {
	ID          string         `json:"-"`
	URL         *string        `json:"url"`
	Description *string        `json:"description"`
	Types       *[]string      `json:"types"`
	Status      *WebhookStatus `json:"status"` // WebhookActive or WebhookPaused
}

// UpdateWebhook changes a webhook and appends "webhook.updated". An update
// that changes nothing does neither. The error is [ErrNotFound] or an
// [*InvalidError].
func (s *Service) UpdateWebhook(ctx context.Context, p UpdateWebhookParams) (Webhook, error) {
	return s.editWebhook(ctx, "update", p.ID, EventWebhookUpdated, func(_ *transaction, rec *webhookRecord) error {
		next := CreateWebhookParams{URL: rec.URL, Description: rec.Description, Types: rec.Types}
		set(&next.URL, p.URL)
		set(&next.Description, p.Description)
		set(&next.Types, p.Types)
		broken := append(checkTags(ctx, next), s.checkWebhook(p.URL, &next.Types)...)
		if p.Status != nil {
			switch *p.Status {
			case WebhookActive:
				rec.FailingSince, rec.FailedAt = time.Time{}, time.Time{}
			case WebhookPaused:
			default:
				broken = append(broken, FieldError{Field: "status", Code: CodeUnknown, Detail: "must be active or paused"})
			}
			rec.Status, rec.StatusReason = *p.Status, ""
		}
		if len(broken) > 0 {
			return &InvalidError{Fields: broken}
		}
		rec.URL, rec.Description, rec.Types = next.URL, next.Description, next.Types
		return nil
	})
}

// DeleteWebhook removes a webhook and what is under way to it, and appends
// "webhook.deleted"; or returns [ErrNotFound].
func (s *Service) DeleteWebhook(ctx context.Context, id string) error {
	err := s.update(ctx, func(tx *transaction) error {
		rec, err := s.findWebhook(ctx, tx, id)
		if err != nil {
			return err
		}
		if err := tx.DeleteEntries(ctx, webhookKind, id); err != nil {
			return err
		}
		// Its deliveries may be many: PurgeHistory removes them by and by.
		if err := tx.PutEntries(ctx, store.Entry{Kind: leftKind, Key: id, CreatedAt: tx.now}); err != nil {
			return err
		}
		_, err = s.appendWebhook(ctx, tx, EventWebhookDeleted, rec.webhook(tx.now), EventData{})
		return err
	})
	if err != nil {
		return fmt.Errorf("delete webhook: %w", err)
	}
	return nil
}

// checkWebhook checks what tags cannot say. It replaces types by the same
// without repetitions.
func (s *Service) checkWebhook(address *string, types *[]string) (broken []FieldError) {
	if address != nil && *address != "" && !s.isWebhookURL(*address) {
		want := "must be an https address without user and fragment"
		if s.opts.Webhooks.AllowPrivate {
			want = "must be an http or https address without user and fragment"
		}
		broken = append(broken, FieldError{Field: "url", Code: CodeInvalidFormat, Detail: want})
	}
	for i, t := range *types {
		if !IsTypePattern(t) {
			broken = append(broken, FieldError{Field: fmt.Sprintf("types/%d", i), Code: CodeUnknown, Detail: `must be a type of event, or a family such as "license.*"`})
		}
	}
	*types = slices.Compact(slices.Sorted(slices.Values(*types)))
	return broken
}

func (s *Service) isWebhookURL(address string) bool {
	u, err := url.Parse(address)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http" && s.opts.Webhooks.AllowPrivate) &&
		u.Hostname() != "" && u.User == nil && u.Fragment == "" && u.Opaque == ""
}

// covers reports whether something about those products, nil meaning all,
// exists for the caller.
func (s *Service) covers(products []string) bool {
	if products == nil {
		return s.sees("")
	}
	return !slices.ContainsFunc(products, func(p string) bool { return !s.sees(p) })
}
