package store

import "time"

// An Event records one change. It is appended in the Update that makes the
// change, so that neither exists without the other.
type Event struct {
	Seq        int64  // its position in the feed, assigned by the store: higher than that of every earlier event
	ID         string // chosen by the caller, who makes it unique: the store stores events with equal IDs
	Type       string // such as "license.created"
	Time       time.Time
	Actor      string // who made the change, such as "client:cid_…"
	RequestID  string // of the request that made the change, if any
	Subject    string // the ID of what changed
	ProductID  string // of what changed, if it belongs to a product
	CustomerID string // of what changed, if it belongs to a customer
	Data       []byte // a JSON document, opaque to the store
}

// An EventQuery selects events in order of Seq. Every set field must match.
//
// A reader that always sets After to the last Seq it received sees every event
// exactly once: no event is committed with a Seq that is lower than one that a
// reader has received.
type EventQuery struct {
	Subject    string // only events of this subject
	CustomerID string // only events of this customer
	ProductID  string // only events of this product
	After      int64  // only events with a Seq above this one, or below it when Descending; zero starts at the beginning
	Descending bool   // newest first
	Limit      int
}
