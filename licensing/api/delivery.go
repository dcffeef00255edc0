package api

import "time"

// A Delivery is the delivery of one event to one webhook.
type Delivery struct {
	Object    string         `json:"object"` // always "delivery"
	ID        string         `json:"id"`     // "dlv_" and 26 characters
	WebhookID string         `json:"webhook_id"`
	EventID   string         `json:"event_id"` // receivers see it as webhook-id
	EventType string         `json:"event_type"`
	Status    DeliveryStatus `json:"status"`
	// NextAttemptAt is when the next attempt may start; nil if none is
	// scheduled.
	NextAttemptAt *time.Time `json:"next_attempt_at"`
	Attempts      []Attempt  `json:"attempts"` // the last twenty, newest last
	CreatedAt     time.Time  `json:"created_at"`
	UpdatedAt     time.Time  `json:"updated_at"`
}

// A DeliveryStatus is the status of a delivery.
type DeliveryStatus string

// The statuses of a delivery, which begins with its first attempt, or as a test. One has
// failed when it has been tried ten times over three days.
const (
	DeliveryPending   DeliveryStatus = "pending"
	DeliverySucceeded DeliveryStatus = "succeeded"
	DeliveryFailed    DeliveryStatus = "failed"
)

// An Attempt is one request to a webhook.
type Attempt struct {
	At         time.Time `json:"at"`
	StatusCode int       `json:"status_code"`     // of the response; 0: no response
	Error      string    `json:"error,omitempty"` // why it failed
	DurationMS int64     `json:"duration_ms"`
	// Response is the beginning of the response body, at most 1 KiB of text. It
	// is nil if the attempt succeeded or the receiver sent no body.
	Response *string `json:"response"`
}
