package webhook

import "github.com/seed-d8a106b4/licensekit/licensing/api"

// The types that Go and the API share. Package api documents their fields.
type (
	Webhook        = api.Webhook
	Secret         = api.WebhookSecret
	Status         = api.WebhookStatus
	ResumeFrom     = api.ResumeFrom
	Delivery       = api.Delivery
	DeliveryStatus = api.DeliveryStatus
	Attempt        = api.Attempt
	EventData      = api.EventData

	CreateParams     = api.CreateWebhookParams
	UpdateParams     = api.UpdateWebhookParams
	ListParams       = api.ListWebhooksParams
	DeliveriesParams = api.ListDeliveriesParams
)

// The statuses of a webhook; see [api.WebhookStatus].
const (
	StatusActive   = api.WebhookActive
	StatusPaused   = api.WebhookPaused
	StatusDisabled = api.WebhookDisabled
)

// The events that a webhook may resume from; see [api.ResumeFrom].
const (
	ResumeFromStop = api.ResumeFromStop
	ResumeFromNow  = api.ResumeFromNow
)

// The statuses of a delivery; see [api.DeliveryStatus].
const (
	DeliveryPending   = api.DeliveryPending
	DeliverySucceeded = api.DeliverySucceeded
	DeliveryFailed    = api.DeliveryFailed
)
