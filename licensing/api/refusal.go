package api

import "time"

// A Refusal counts how often validations and activations of a license were
// refused with one code.
type Refusal struct {
	Object string      `json:"object"` // always "refusal"
	Code   VerdictCode `json:"code"`
	Count  int64       `json:"count"` // in the last 90 days
	LastAt time.Time   `json:"last_at"`
	// Days are the days, in UTC, with such a refusal, newest first. Never
	// nil.
	Days []RefusalDay `json:"days"`
	// Recent are those of the license's last twenty refusals that have the
	// code, newest first. Never nil.
	Recent []RefusedCall `json:"recent"`
}

// A RefusalDay is the number of refusals on one day.
type RefusalDay struct {
	Date  string `json:"date"` // such as "2026-03-01", in UTC
	Count int64  `json:"count"`
}

// A RefusedCall is one validation or activation that was refused.
type RefusedCall struct {
	At          time.Time `json:"at"`
	Action      string    `json:"action"`      // "validate" or "activate"
	Fingerprint string    `json:"fingerprint"` // empty: the call had none
	Address     string    `json:"address"`     // of the client; empty: unknown
	// Asked is the product or the entitlement that the call asked
	// for and the license is not for; empty with any other code.
	Asked string `json:"asked,omitempty"`
}
