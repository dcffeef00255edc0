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
	Data       json.RawMessage `json:"data"` // an [EventData]

	Seq int64 `json:"-"` // position in this store's feed; only in Go code of the service
}

// Decode returns the data of the event.
func (e Event) Decode() (EventData, error) {
	var data EventData
	err := json.Unmarshal(e.Data, &data)
	return data, err
}
