package api

import (
	"encoding/json"
	"time"
)

// An Event describes one change. The feed lists events, webhooks send them
// and subscribers receive them. Its form follows the Standard Webhooks envelope
// (type, timestamp, data).
type Event struct {
	Object     string          `json:"object"` // always "event"
	ID         string          `json:"id"`     // "evt_" and 26 characters; the same for every delivery
	Type       string          `json:"type"`   // such as "license.created"
	Timestamp  time.Time       `json:"timestamp"`
	Actor      string          `json:"actor"`                // "client:cid_…", "operator:opr_…", "license:lic_…" or "go"; "anonymous": failed sign-in; "clock": expiry; "delivery": webhook delivery
	RequestID  string          `json:"request_id,omitempty"` // of the request that caused it, if any
	Subject    string          `json:"subject"`              // ID of the changed resource
	ProductID  string          `json:"product_id,omitempty"` // of the license, if the event is about one
	CustomerID string          `json:"customer_id,omitempty"`
	Data       json.RawMessage `json:"data"` // an [EventData], unless the event is about a client or an operator

	Seq int64 `json:"-"` // position in this store's feed; only in Go code of the service
}

// Decode returns the data of an event about a license, an activation or a
// webhook.
func (e Event) Decode() (EventData, error) {
	var data EventData
	err := json.Unmarshal(e.Data, &data)
	return data, err
}

// EventData is the data of an event. Which fields are set depends on the type of
// the event. It never contains license keys or secrets.
type EventData struct {
	// License is the license after the change; for license.deleted, its last
	// state.
	License *License `json:"license,omitempty"`
	// Usage is set in events about usage, which do not have the license.
	Usage *UsageCount `json:"usage,omitempty"`
	// Plan is the plan after the change; for plan.deleted, its last state.
	Plan *Plan `json:"plan,omitempty"`
	// Reference is that of the purchase that caused the change.
	Reference string `json:"reference,omitempty"`
	// Granted is the ID of the plan of the purchase with that reference, set in the one
	// event with which the purchase gets its license.
	Granted string `json:"granted,omitempty"`
	// Imported reports that an import has created the license.
	Imported bool `json:"imported,omitempty"`
	// Ended are the references of the purchases that have ended, set for license.updated
	// with the actor "clock", or that will end before the license does, set for
	// license.expiring.
	Ended []string `json:"ended,omitempty"`
	// Activation is the activation after the change.
	Activation *Activation `json:"activation,omitempty"`
	// File is the license file that was issued.
	File *EventFile `json:"file,omitempty"`
	// Forced reports that a seat was released although a license file holds
	// it and the license has as many spent seats as it may have.
	Forced bool `json:"forced,omitempty"`
	// NoticeSeconds, set for license.expiring, is how long before the
	// license's expires_at, or before the end of the purchases in Ended, the notice is due.
	NoticeSeconds *int64 `json:"notice_seconds,omitempty"`
	// GraceEndsAt is when the grace period of the license, or of the purchases in
	// Ended, ends, set for license.expiring, license.expired, license.lapsed and, if
	// the license expires, license.renewed; nil at the last instant of the year 9999,
	// which is never.
	GraceEndsAt *time.Time `json:"grace_ends_at,omitempty"`
	// Webhook is the webhook after the change. Its URL is reduced to scheme
	// and host.
	Webhook *Webhook `json:"webhook,omitempty"`
	// Changes holds the changed fields under their API names.
	Changes map[string]FieldChange `json:"changes,omitempty"`
	// Reason is the reason given for a state change or a release, or why a
	// webhook was disabled.
	Reason string `json:"reason,omitempty"`
	// Erased reports that the erasure of a customer has blanked the event.
	Erased bool `json:"erased,omitempty"`
}

// An EventFile is the license file in an event.
type EventFile struct {
	ID         string    `json:"id"` // the jti of the file
	Generation int64     `json:"generation"`
	ExpiresAt  time.Time `json:"expires_at"`
}

// A FieldChange holds the old and the new value of a field.
type FieldChange struct {
	From any `json:"from"`
	To   any `json:"to"`
}
