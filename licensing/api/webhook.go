package api

import "time"

// A Webhook is an endpoint that receives events.
type Webhook struct {
	Object      string `json:"object"` // always "webhook"
	ID          string `json:"id"`     // "whk_" and 26 characters
	URL         string `json:"url"`
	Description string `json:"description"`
	// Types are the event types to send, or families such as
	// "license.*". Empty: all. Never nil.
	Types []string `json:"types"`
	// Products are the products whose events are sent. Nil: all events,
	// including those without a product.
	Products     []string      `json:"products"`
	Status       WebhookStatus `json:"status"`
	StatusReason string        `json:"status_reason,omitempty"` // why the webhook is disabled
	FailingSince *time.Time    `json:"failing_since"`           // since when every delivery has failed; nil: not failing
	// SkippedEvents is how many events, of all types, it never received:
	// retention removed them while it lagged or was paused, or it resumed from
	// now.
	SkippedEvents int64 `json:"skipped_events"`
	// Waiting is how many events it has not received yet; only of one that was read by its
	// ID. WaitingMore: there may be more.
	Waiting     *int `json:"waiting,omitempty"`
	WaitingMore bool `json:"waiting_more,omitempty"`
	// Secrets are the secrets that sign deliveries, newest first: one, or
	// two during the overlap of a rotation.
	Secrets   []WebhookSecret `json:"secrets"`
	CreatedAt time.Time       `json:"created_at"`
	UpdatedAt time.Time       `json:"updated_at"`

	// CreatedBy is the actor that created the webhook, as in an [Event]; only in
	// Go code of the service. A webhook of an API client receives only events that
	// the client may see at the time of sending.
	CreatedBy string `json:"-"`
}

// A WebhookSecret describes a signing secret without its value.
type WebhookSecret struct {
	CreatedAt time.Time  `json:"created_at"`
	ExpiresAt *time.Time `json:"expires_at"` // nil: valid until rotated
}

// A WebhookWithSecret is a webhook with its newest signing secret, "whsec_" and
// 44 characters, which cannot be read again.
type WebhookWithSecret struct {
	Webhook
	Secret string `json:"secret"`
}

// A WebhookStatus is the status of a webhook.
type WebhookStatus string

// The statuses of a webhook. An active webhook receives events. A paused one
// receives nothing. A webhook that has failed for five days or answered 410 is
// disabled, and receives nothing either. When a webhook is activated again,
// deliveries that were pending are sent, and [ResumeFrom] says which events it
// receives: those since it stopped that retention has kept, or new ones only.
const (
	WebhookActive   WebhookStatus = "active"
	WebhookPaused   WebhookStatus = "paused"
	WebhookDisabled WebhookStatus = "disabled"
)

// A ResumeFrom says which events a webhook receives when it becomes active
// again.
type ResumeFrom string

// The events that a webhook may resume from.
const (
	// ResumeFromStop: those since it was paused or disabled that are still
	// kept, and then new ones. It is the default.
	ResumeFromStop ResumeFrom = "stop"
	// ResumeFromNow: new events only. The others count as skipped. Deliveries
	// that were already attempted, tests and resends are sent nevertheless.
	ResumeFromNow ResumeFrom = "now"
)
