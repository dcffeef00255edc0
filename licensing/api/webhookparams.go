package api

// CreateWebhookParams are the fields of a new webhook. Only URL is required.
type CreateWebhookParams struct {
	// URL is where events are sent: https (or http, if the service allows private
	// addresses), without user info or fragment, at most
	// 2,048 characters. Its host is an IP address or a name of letters,
	// digits, hyphens, underscores and dots. Its address is checked on every delivery.
	URL         string   `json:"url" validate:"required,wellformed,max=2048"`
	Description string   `json:"description" validate:"omitempty,text"`
	Types       []string `json:"types" validate:"max=50"`           // as in [Webhook]
	Products    []string `json:"products" validate:"max=100,texts"` // as in [Webhook]; for a caller limited to products, nil means all of those
}

// UpdateWebhookParams select a webhook and the fields to change. Nil fields keep
// their values.
type UpdateWebhookParams struct {
	ID          string         `json:"-" path:"webhookID"`
	URL         *string        `json:"url"`
	Description *string        `json:"description"`
	Types       *[]string      `json:"types"`
	Status      *WebhookStatus `json:"status"` // WebhookActive or WebhookPaused
	// ResumeFrom says which events a webhook receives that Status makes active
	// again. Empty: ResumeFromStop.
	ResumeFrom ResumeFrom `json:"resume_from" validate:"omitempty,oneof=stop now" wire:"filled"`
}

// RotateWebhookParams are the parameters of a new signing secret.
type RotateWebhookParams struct {
	ID             string `json:"-" path:"webhookID"`
	OverlapSeconds *int64 `json:"overlap_seconds"` // how long the old secret signs too, at most 30 days; nil: 86400
}

// ListWebhooksParams select a page of webhooks.
type ListWebhooksParams struct {
	Limit  int    `query:"limit" validate:"min=0,max=200"` // 0: 50
	Cursor string `query:"cursor"`                         // NextCursor of the previous page
}

// ListDeliveriesParams select deliveries to one webhook.
type ListDeliveriesParams struct {
	WebhookID string         `json:"-" path:"webhookID"`
	Status    DeliveryStatus `query:"status" validate:"omitempty,oneof=pending succeeded failed"` // empty: any
	Limit     int            `query:"limit" validate:"min=0,max=200"`                             // 0: 50
	Cursor    string         `query:"cursor"`                                                     // NextCursor of the previous page
}

// ResendDeliveryParams select a delivery.
type ResendDeliveryParams struct {
	WebhookID  string `json:"-" path:"webhookID"`
	DeliveryID string `json:"-" path:"deliveryID"`
}
