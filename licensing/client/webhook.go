package client

import (
	"context"
	"iter"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// CreateWebhook adds a webhook. It fails with [api.CodeInvalidParameters] or
// [api.CodeProductForbidden]. After a lost connection it is not retried, because
// the webhook may exist.
func (c *Client) CreateWebhook(ctx context.Context, p api.CreateWebhookParams) (api.WebhookWithSecret, error) {
	return call[api.WebhookWithSecret](ctx, c, "POST /webhook", single, p)
}

// ListWebhooks returns the webhooks, oldest first.
func (c *Client) ListWebhooks(ctx context.Context, p api.ListWebhooksParams) iter.Seq2[api.Webhook, error] {
	return list[api.Webhook](ctx, c, "GET /webhook", 0, p.Cursor, func(cursor string) any { p := p; p.Cursor = cursor; return p })
}

type webhookID struct {
	ID string `json:"-" path:"webhookID"`
}

// GetWebhook returns the webhook with an ID. It fails with [api.CodeNotFound].
func (c *Client) GetWebhook(ctx context.Context, id string) (api.Webhook, error) {
	return call[api.Webhook](ctx, c, "GET /webhook/{webhookID}", 0, webhookID{id})
}

// UpdateWebhook changes a webhook. It fails with [api.CodeNotFound] or
// [api.CodeInvalidParameters].
func (c *Client) UpdateWebhook(ctx context.Context, p api.UpdateWebhookParams) (api.Webhook, error) {
	return call[api.Webhook](ctx, c, "PATCH /webhook/{webhookID}", keyed, p)
}

// DeleteWebhook deletes the webhook with an ID. It fails with [api.CodeNotFound].
// If a retry finds no webhook after an attempt of unknown outcome, the webhook
// counts as deleted.
func (c *Client) DeleteWebhook(ctx context.Context, id string) error {
	_, err := call[struct{}](ctx, c, "DELETE /webhook/{webhookID}", 0, webhookID{id})
	return deleted(err)
}

// RotateWebhook adds a signing secret to a webhook. It fails with
// [api.CodeNotFound]. After a lost connection it is not retried, because the
// secret may have been rotated.
func (c *Client) RotateWebhook(ctx context.Context, p api.RotateWebhookParams) (api.WebhookWithSecret, error) {
	return call[api.WebhookWithSecret](ctx, c, "POST /webhook/{webhookID}/rotate", single, p)
}

// TestWebhook sends an event of type webhook.test to a webhook. It fails with
// [api.CodeNotFound].
func (c *Client) TestWebhook(ctx context.Context, id string) (api.Delivery, error) {
	return call[api.Delivery](ctx, c, "POST /webhook/{webhookID}/test", keyed, webhookID{id})
}

// ListDeliveries returns the deliveries of a webhook. It fails with
// [api.CodeNotFound].
func (c *Client) ListDeliveries(ctx context.Context, p api.ListDeliveriesParams) iter.Seq2[api.Delivery, error] {
	return list[api.Delivery](ctx, c, "GET /webhook/{webhookID}/delivery", 0, p.Cursor, func(cursor string) any { p := p; p.Cursor = cursor; return p })
}

// ResendDelivery sends a finished delivery again. It fails with
// [api.CodeNotFound].
func (c *Client) ResendDelivery(ctx context.Context, p api.ResendDeliveryParams) (api.Delivery, error) {
	return call[api.Delivery](ctx, c, "POST /webhook/{webhookID}/delivery/{deliveryID}/resend", keyed, p)
}
