package store

import "time"

// An Activation is one seat of a license, taken by one fingerprint: its ids, the
// fields that an [ActivationQuery] names, and one document with all others. The
// store gives no meaning to the document.
type Activation struct {
	LicenseID   string
	ID          string // unique within the license; time-ordered, made by the rules
	Fingerprint string // unique within the license

	// LeaseEndsAt is when the lease ends and the seat becomes free; zero: never. An
	// activation that was released or evicted keeps its row, with EndedAt set.
	LeaseEndsAt time.Time
	EndedAt     time.Time // zero: not released or evicted
	Document    []byte    // opaque to the store
}

// An ActivationQuery selects activations: those of one license or those of all
// licenses whose Fingerprint has a prefix. Every set field must match. A field
// that does not belong to the kind of query makes the query an error.
//
// The activations of one license come in order of ID or, with LeaseEnds set, in
// order of (LeaseEndsAt, ID), those without a lease first.
//
// With FingerprintPrefix set, the activations of all licenses come in order of
// (Fingerprint, LicenseID), byte by byte, including activations that have ended, and
// activations of deleted licenses that DeleteActivations has not removed yet.
type ActivationQuery struct {
	LicenseID string // only activations of this license; empty only with FingerprintPrefix
	// LiveAt, when set, leaves only activations that hold a seat at that
	// instant: EndedAt is zero, and LeaseEndsAt is zero or after LiveAt.
	LiveAt time.Time
	// LeaseEnds, when it is a set range, leaves only activations whose
	// EndedAt is zero and whose LeaseEndsAt is in it; those without a lease
	// match only if its OrNone is set. Such a list is not paged: After is
	// ignored.
	LeaseEnds TimeRange
	After     string // the ID of the last activation of the page before

	FingerprintPrefix string // of all licenses: only activations whose Fingerprint begins with it
	// AfterFingerprint and AfterLicenseID are for FingerprintPrefix: the Fingerprint and the
	// LicenseID of the last activation of the page before.
	AfterFingerprint, AfterLicenseID string

	Limit int
}

// Check returns an error if q is not a query that the contract knows. Backends
// call it at the beginning of Activations.
func (q ActivationQuery) Check() error {
	switch {
	case q.FingerprintPrefix != "" && (q.LicenseID != "" || !q.LiveAt.IsZero() || !q.LeaseEnds.IsZero() || q.After != ""):
		return queryError("activations: FingerprintPrefix with LicenseID, LiveAt, LeaseEnds or After")
	case q.FingerprintPrefix == "" && (q.AfterFingerprint != "" || q.AfterLicenseID != ""):
		return queryError("activations: AfterFingerprint or AfterLicenseID without FingerprintPrefix")
	}
	return nil
}
