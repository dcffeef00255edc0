package endpoints

import (
	"context"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/licensing/webhook"
)

// on adapts a function of the webhooks to one that acts as the rules of a
// request do.
func on[P, R any](hooks *webhook.Service, fn func(*webhook.Service, context.Context, P) (R, error)) func(*license.Service, context.Context, P) (R, error) {
	return func(rules *license.Service, ctx context.Context, p P) (R, error) {
		return fn(hooks.In(rules), ctx, p)
	}
}

// faults adapts the check of the webhooks as on does.
func faults[P any](hooks *webhook.Service) func(*license.Service, *P) []api.FieldError {
	return func(rules *license.Service, p *P) []api.FieldError { return inner.Of(hooks.In(rules)).Faults(p) }
}

func createWebhook(hooks *webhook.Service, ctx context.Context, p api.CreateWebhookParams) (api.WebhookWithSecret, error) {
	hook, secret, err := hooks.Create(ctx, p)
	return api.WebhookWithSecret{Webhook: hook, Secret: secret}, err
}

func newWebhook(result any) []string { return []string{"webhook", result.(*api.WebhookWithSecret).ID} }

func deleteWebhook(hooks *webhook.Service, ctx context.Context, p byWebhook) (deleted, error) {
	err := hooks.Delete(ctx, p.ID)
	return deleted{"webhook", p.ID, true}, err
}

func rotateWebhook(hooks *webhook.Service, ctx context.Context, p api.RotateWebhookParams) (api.WebhookWithSecret, error) {
	hook, secret, err := hooks.RotateSecret(ctx, p)
	return api.WebhookWithSecret{Webhook: hook, Secret: secret}, err
}

func resend(hooks *webhook.Service, ctx context.Context, p api.ResendDeliveryParams) (api.Delivery, error) {
	return hooks.Resend(ctx, p.WebhookID, p.DeliveryID)
}
