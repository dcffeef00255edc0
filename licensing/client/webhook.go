package client

import (
	"context"
	"iter"
)

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
