package api

import (
	"context"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/input"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

// newSecret is a webhook with its new secret, which is not shown again.
type newSecret struct {
	license.Webhook
	Secret string `json:"secret"`
}

func createWebhook(rules *license.Service, ctx context.Context, p license.CreateWebhookParams) (newSecret, error) {
	hook, secret, err := rules.CreateWebhook(ctx, p)
	return newSecret{hook, secret}, err
}

// listWebhooks lists all webhooks; they always fit on one page.
func listWebhooks(rules *license.Service, ctx context.Context, _ struct{}) (license.Page[license.Webhook], error) {
	all, err := rules.Webhooks(ctx)
	return license.Page[license.Webhook]{Data: all}, err
}

func getWebhook(rules *license.Service, ctx context.Context, p byID) (license.Webhook, error) {
	return rules.GetWebhook(ctx, p.ID)
}

func deleteWebhook(rules *license.Service, ctx context.Context, p byID) (deleted, error) {
	err := rules.DeleteWebhook(ctx, p.ID)
	return deleted{"webhook", p.ID, true}, err
}

type rotateParams struct {
	ID             string
	OverlapSeconds *int64 `json:"overlap_seconds"`
}

// defaultOverlap is how long an old secret stays valid by default.
const defaultOverlap = 24 * time.Hour

func rotateWebhook(rules *license.Service, ctx context.Context, p rotateParams) (newSecret, error) {
	if len(input.Errors(ctx, nil)) > 0 {
		return newSecret{}, input.Invalid(ctx)
	}
	overlap := defaultOverlap
	if p.OverlapSeconds != nil {
		const beyond = 1 << 32 // above the limit of the rules, without overflow
		overlap = time.Duration(min(max(*p.OverlapSeconds, -1), beyond)) * time.Second
	}
	hook, secret, err := rules.RotateWebhookSecret(ctx, license.RotateWebhookParams{ID: p.ID, Overlap: overlap})
	return newSecret{hook, secret}, err
}

func testWebhook(rules *license.Service, ctx context.Context, p byID) (license.Delivery, error) {
	return rules.TestWebhook(ctx, p.ID)
}

type resendParams struct{ WebhookID, DeliveryID string }

func resend(rules *license.Service, ctx context.Context, p resendParams) (license.Delivery, error) {
	return rules.Resend(ctx, p.WebhookID, p.DeliveryID)
}
