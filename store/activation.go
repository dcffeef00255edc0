package store

import "time"

// An Activation is one seat of a license, taken by one fingerprint: its ids, the
// fields that an [ActivationQuery] names, and one document with all others. The
// store gives no meaning to the document.
type Activation struct {
	LicenseID   string
	ID          string // unique within the license; time-ordered, made by the rules
	Fingerprint string // unique within the license

	// LeaseEndsAt is when the seat frees itself; zero: never. A seat that
	// was ended by hand keeps its row, with EndedAt set.
	LeaseEndsAt time.Time
	EndedAt     time.Time // zero: not ended by hand
	Document    []byte    // opaque to the store
}

// An ActivationQuery selects the activations of one license, in order of ID or,
// with LeaseEnds set, in order of (LeaseEndsAt, ID), those without a lease
// first. Every set field must match.
type ActivationQuery struct {
	LicenseID string
	// LiveAt, when set, leaves only activations that hold a seat at that
	// instant: EndedAt is zero, and LeaseEndsAt is zero or after LiveAt.
	LiveAt time.Time
	// LeaseEnds, when it is a set range, leaves only activations whose
	// EndedAt is zero and whose LeaseEndsAt is in it; those without a lease
	// match only if its OrNone is set. Such a list is not paged: After is
	// ignored.
	LeaseEnds TimeRange
	After     string // the ID of the last activation of the page before
	Limit     int
}
