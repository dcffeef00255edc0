package client

import (
	"context"
	"iter"
	"time"
)

// A Webhook is an endpoint that receives events.
type Webhook struct {
	ID           string        `json:"id"`
	URL          string        `json:"url"`
	Description  string        `json:"description"`
	Types        []string      `json:"types"`    // such as "license.*"; empty: all
	Products     []string      `json:"products"` // nil: events of all products, and those without one
	Status       WebhookStatus `json:"status"`
	StatusReason string        `json:"status_reason"` // why it is disabled
	FailingSince *time.Time    `json:"failing_since"` // nil: not failing
	// SkippedEvents is how many events, of all types, it never received:
	// retention removed them while it lagged or was paused, or it resumed from
	// now.
	SkippedEvents int64           `json:"skipped_events"`
	Secrets       []WebhookSecret `json:"secrets"` // newest first
	CreatedAt     time.Time       `json:"created_at"`
	UpdatedAt     time.Time       `json:"updated_at"`
}

func (w Webhook) complete() bool { return w.ID != "" }

// A WebhookStatus is the status of a webhook.
type WebhookStatus string

// The statuses of a webhook.
const (
	WebhookActive   WebhookStatus = "active"
	WebhookPaused   WebhookStatus = "paused"   // events wait
	WebhookDisabled WebhookStatus = "disabled" // it failed for days, or answered 410
)

// A ResumeFrom says which events a webhook receives when it becomes active
// again.
type ResumeFrom string

// The events that a webhook may resume from.
const (
	ResumeFromStop ResumeFrom = "stop" // those since it was paused or disabled that are still kept, and then new ones
	ResumeFromNow  ResumeFrom = "now"  // new events only; deliveries that were attempted before, tests and resends are sent nevertheless
)

// A WebhookSecret describes a signing secret without its value.
type WebhookSecret struct {
	CreatedAt time.Time  `json:"created_at"`
	ExpiresAt *time.Time `json:"expires_at"` // nil: valid until rotated
}

// A WebhookWithSecret is a webhook with its newest signing secret, which
// cannot be read again.
type WebhookWithSecret struct {
	Webhook
	Secret string `json:"secret"` // for [VerifyWebhook]
}

// CreateWebhookParams are the fields of a new webhook. Only URL is required.
type CreateWebhookParams struct {
	URL         string   `json:"url"` // https, at most 2,048 characters
	Description string   `json:"description,omitempty"`
	Types       []string `json:"types,omitempty"`    // as in [Webhook]
	Products    []string `json:"products,omitempty"` // as in [Webhook]
}

// CreateWebhook adds a webhook. It fails with [CodeInvalidParameters] or
// [CodeProductForbidden]. After a lost connection it is not retried, because
// the webhook may exist.
func (c *Client) CreateWebhook(ctx context.Context, p CreateWebhookParams) (WebhookWithSecret, error) {
	return call[WebhookWithSecret](ctx, c, "POST /webhook", single, p)
}

// ListWebhooksParams are the parameters of [Client.ListWebhooks].
type ListWebhooksParams struct {
	Limit int `json:"-" query:"limit"` // webhooks per request, at most 200; 0: 100
}

// ListWebhooks returns the webhooks, oldest first.
func (c *Client) ListWebhooks(ctx context.Context, p ListWebhooksParams) iter.Seq2[Webhook, error] {
	type params struct {
		ListWebhooksParams
		pageQuery
	}
	return list[Webhook](ctx, c, "GET /webhook", 0, func(cursor string) any { return params{p, pageQuery{cursor}} })
}

type webhookID struct {
	ID string `json:"-" path:"webhookID"`
}

// GetWebhook returns the webhook with an ID. It fails with [CodeNotFound].
func (c *Client) GetWebhook(ctx context.Context, id string) (Webhook, error) {
	return call[Webhook](ctx, c, "GET /webhook/{webhookID}", 0, webhookID{id})
}

// UpdateWebhookParams select a webhook and the fields to change. Fields that
// are not set keep their values.
type UpdateWebhookParams struct {
	ID             string        `json:"-" path:"webhookID"`
	URL            *string       `json:"url,omitempty"`
	Description    *string       `json:"description,omitempty"`
	Types          []string      `json:"types,omitzero"`             // nil: unchanged; empty: all
	Status         WebhookStatus `json:"status,omitempty"`           // active or paused
	ResumeFrom     ResumeFrom    `json:"resume_from,omitempty"`      // which events it receives if Status makes it active again; empty: ResumeFromStop
	IdempotencyKey string        `json:"-" header:"Idempotency-Key"` // as in [CreateLicenseParams]
}

// UpdateWebhook changes a webhook. It fails with [CodeNotFound] or
// [CodeInvalidParameters].
func (c *Client) UpdateWebhook(ctx context.Context, p UpdateWebhookParams) (Webhook, error) {
	return call[Webhook](ctx, c, "PATCH /webhook/{webhookID}", keyed, p)
}

// DeleteWebhook deletes the webhook with an ID. It fails with [CodeNotFound].
// If a retry finds no webhook after an attempt of unknown outcome, the webhook
// counts as deleted.
func (c *Client) DeleteWebhook(ctx context.Context, id string) error {
	_, err := call[struct{}](ctx, c, "DELETE /webhook/{webhookID}", 0, webhookID{id})
	return deleted(err)
}

// RotateWebhookParams are the parameters of [Client.RotateWebhook].
type RotateWebhookParams struct {
	ID             string `json:"-" path:"webhookID"`
	OverlapSeconds *int64 `json:"overlap_seconds,omitempty"` // how long the old secret signs too; nil: 86400
}

// RotateWebhook adds a signing secret to a webhook. It fails with
// [CodeNotFound]. After a lost connection it is not retried, because the
// secret may have been rotated.
func (c *Client) RotateWebhook(ctx context.Context, p RotateWebhookParams) (WebhookWithSecret, error) {
	return call[WebhookWithSecret](ctx, c, "POST /webhook/{webhookID}/rotate", single, p)
}

// TestWebhook sends an event of type webhook.test to a webhook. It fails with
// [CodeNotFound].
func (c *Client) TestWebhook(ctx context.Context, id string) (Delivery, error) {
	return call[Delivery](ctx, c, "POST /webhook/{webhookID}/test", keyed, webhookID{id})
}

// A Delivery is the sending of one event to one webhook.
type Delivery struct {
	ID            string         `json:"id"`
	WebhookID     string         `json:"webhook_id"`
	EventID       string         `json:"event_id"` // receivers see it as webhook-id
	EventType     string         `json:"event_type"`
	Status        DeliveryStatus `json:"status"`
	NextAttemptAt *time.Time     `json:"next_attempt_at"` // nil: it is finished
	Attempts      []Attempt      `json:"attempts"`
	CreatedAt     time.Time      `json:"created_at"`
	UpdatedAt     time.Time      `json:"updated_at"`
}

func (d Delivery) complete() bool { return d.ID != "" }

// A DeliveryStatus is the status of a delivery.
type DeliveryStatus string

// The statuses of a delivery.
const (
	DeliveryPending   DeliveryStatus = "pending"
	DeliverySucceeded DeliveryStatus = "succeeded"
	DeliveryFailed    DeliveryStatus = "failed"
)

// An Attempt is one attempt of a delivery.
type Attempt struct {
	At         time.Time `json:"at"`
	StatusCode int       `json:"status_code"` // 0: no response
	Error      string    `json:"error"`
	DurationMS int64     `json:"duration_ms"`
	Response   *string   `json:"response"` // the beginning of the response body of a failed attempt, at most 1 KiB; nil: none
}

// ListDeliveriesParams select deliveries of a webhook.
type ListDeliveriesParams struct {
	WebhookID string         `json:"-" path:"webhookID"`
	Status    DeliveryStatus `json:"-" query:"status"` // empty: all
	Limit     int            `json:"-" query:"limit"`  // deliveries per request, at most 200; 0: 50
}

// ListDeliveries returns the deliveries of a webhook. It fails with
// [CodeNotFound].
func (c *Client) ListDeliveries(ctx context.Context, p ListDeliveriesParams) iter.Seq2[Delivery, error] {
	type params struct {
		ListDeliveriesParams
		pageQuery
	}
	return list[Delivery](ctx, c, "GET /webhook/{webhookID}/delivery", 0, func(cursor string) any { return params{p, pageQuery{cursor}} })
}

// ResendDeliveryParams select a delivery.
type ResendDeliveryParams struct {
	WebhookID      string `json:"-" path:"webhookID"`
	DeliveryID     string `json:"-" path:"deliveryID"`
	IdempotencyKey string `json:"-" header:"Idempotency-Key"` // as in [CreateLicenseParams]
}

// ResendDelivery sends a finished delivery again. It fails with
// [CodeNotFound].
func (c *Client) ResendDelivery(ctx context.Context, p ResendDeliveryParams) (Delivery, error) {
	return call[Delivery](ctx, c, "POST /webhook/{webhookID}/delivery/{deliveryID}/resend", keyed, p)
}
