package api

import "time"

// A Verdict reports whether a license is valid at an instant and, if not,
// all reasons.
type Verdict struct {
	Valid bool `json:"valid"`
	// Code is "valid" or "in_grace" for a valid license, otherwise the code
	// of the first reason.
	Code VerdictCode `json:"code"`
	// Reasons lists everything that makes the license invalid, in the order
	// of the constants of [VerdictCode]. Never nil.
	Reasons []Reason `json:"reasons"`
	// License is the license without its key and its reference; nil if no license has
	// the key.
	License *License `json:"license"`
	// Activation is the activation of the fingerprint; nil if there is
	// none.
	Activation *Activation `json:"activation"`
	// NextChangeAt is when the verdict next changes with the passage of
	// time; nil: never.
	NextChangeAt *time.Time `json:"next_change_at"`
	// RecheckAfter is after how many seconds to validate again, at least 1:
	// no later than NextChangeAt, than half of the remaining lease of an
	// active activation, and than a periodic check, of one hour by default.
	RecheckAfter int64 `json:"recheck_after"`

	// Meters is what was used of each meter of the license in its present period, by
	// name.
	Meters []MeterUse `json:"meters,omitempty"`

	// File is the license file that the request asked for; empty: none. In Go
	// code of the service it is empty.
	File string `json:"file,omitempty"`
	// FileReason says why a valid license allows no file, if the request
	// asked for one; nil: it does.
	FileReason *Reason `json:"file_reason,omitempty"`
}

// A Reason is one thing that makes a license invalid.
type Reason struct {
	Code   VerdictCode `json:"code"`
	Detail string      `json:"detail"` // one sentence for humans
}

// A VerdictCode is the [Code] of a verdict or a reason. The list may grow.
type VerdictCode = Code

// VerdictFileTooLarge is the code of the reason why a valid license allows no file: its
// entitlements do not fit. Another is [VerdictActivationLimit]: the license has
// more active activations than seats.
const VerdictFileTooLarge VerdictCode = "file_too_large"

// VerdictLeaseRequired is the code of the reason why an activation per process gets no file: its
// license has no LeaseSeconds any more, or has OfflineSeconds.
const VerdictLeaseRequired VerdictCode = "lease_required"

// The codes of a verdict, in the order of the reasons. An activation that is
// refused fails with the code of its verdict.
const (
	VerdictValid              VerdictCode = "valid"
	VerdictInGrace            VerdictCode = "in_grace"            // past ExpiresAt, within the grace period
	VerdictNotFound           VerdictCode = "not_found"           // no license has the key
	VerdictRevoked            VerdictCode = "revoked"             //
	VerdictSuspended          VerdictCode = "suspended"           //
	VerdictExpired            VerdictCode = "expired"             // past ExpiresAt and the grace period
	VerdictScheduled          VerdictCode = "scheduled"           // before StartsAt
	VerdictProductMismatch    VerdictCode = "product_mismatch"    // not for the requested product
	VerdictCustomerMismatch   VerdictCode = "customer_mismatch"   // not for the requested customer
	VerdictUpdatesEnded       VerdictCode = "updates_ended"       // the program was built after UpdatesUntil
	VerdictNotActivated       VerdictCode = "not_activated"       // the fingerprint has no activation, or released it
	VerdictLeaseEnded         VerdictCode = "lease_ended"         // the activation was not renewed in time
	VerdictEvicted            VerdictCode = "evicted"             // another activation took over the seat
	VerdictActivationLimit    VerdictCode = "activation_limit"    // the fingerprint is not activated, and no seat is free
	VerdictUsageLimit         VerdictCode = "usage_limit"         // the limit of a meter would be exceeded
	VerdictMeterMissing       VerdictCode = "meter_missing"       // the license lacks a meter
	VerdictEntitlementMissing VerdictCode = "entitlement_missing" // the license lacks a requested entitlement
)
