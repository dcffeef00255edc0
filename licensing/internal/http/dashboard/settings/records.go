package settings

import (
	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/kit"
)

func ReadCredential(v *kit.Visit) (auth.Client, error) {
	return v.Auth.GetClient(v.R.Context(), v.R.PathValue("id"))
}

func ReadWebhook(v *kit.Visit) (WebhookRow, error) {
	w, err := v.Webhooks.Get(v.R.Context(), v.R.PathValue("id"))
	return WebhookRow{Webhook: w}, err
}
