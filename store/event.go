package store

import "time"

// An Event records one change. It is appended in the Update that makes the
// change, so that neither exists without the other.
type Event struct {
	Seq        int64  // its place in the feed, given by the store: above that of every event appended before it
	ID         string // made by the rules; unique
	Type       string // such as "license.created"
	Time       time.Time
	Actor      string // who did it, such as "client:cid_…"
	RequestID  string // the request that did it, if one did
	Subject    string // the id of what changed
	ProductID  string // the product it belongs to, if any
	CustomerID string // the customer it belongs to, if any
	Data       []byte // a JSON document, opaque to the store
}

// An EventQuery selects events in order of Seq. Every set field must match.
//
// A reader who asks again and again with After set to the last Seq it was
// given sees every event exactly once: no event is ever committed with a Seq
// at or below one that a reader has already been given.
type EventQuery struct {
	Subject    string // only events of this subject
	CustomerID string // only events of this customer
	ProductID  string // only events of this product
	After      int64  // only events with a Seq above this one, or below it when Descending; zero starts at the beginning
	Descending bool   // newest first
	Limit      int
}
