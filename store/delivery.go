package store

import "time"

// A Delivery is one event on its way to one webhook endpoint. The store gives
// no meaning to any field but ID and the ones that a [DeliveryQuery] names.
type Delivery struct {
	ID         string // unique; time-ordered, made by the rules
	EndpointID string
	EventID    string
	EventSeq   int64
	EventType  string
	State      string // such as "pending", "succeeded" or "failed"
	// DueAt is when the next attempt may start; zero: no attempt is due
	// any more. Whoever claims a delivery moves DueAt on by the length of
	// its lease.
	DueAt     time.Time
	Attempts  int64
	Data      []byte // a JSON document, opaque to the store: the attempts made
	CreatedAt time.Time
	UpdatedAt time.Time
}

// A DeliveryQuery selects deliveries.
//
// With DueBefore set they come in order of (DueAt, ID), the longest due
// first, and After is such a pair; without, in descending order of ID, newest
// first, and only After.ID counts.
type DeliveryQuery struct {
	EndpointID string
	State      string
	DueBefore  time.Time // only deliveries with a DueAt that is set and before this instant
	After      Position
	Limit      int
}
