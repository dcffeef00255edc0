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

// The codes of a verdict, in the order of the reasons; docs/errors.md lists them. An
// activation that is refused fails with the code of its verdict.
const (
	VerdictValid              VerdictCode = "valid"               // The license is valid.
	VerdictInGrace            VerdictCode = "in_grace"            // The license has ended, and is valid until its grace period ends.
	VerdictNotFound           VerdictCode = "not_found"           // No license has the key.
	VerdictRevoked            VerdictCode = "revoked"             // The license was revoked.
	VerdictSuspended          VerdictCode = "suspended"           // The license is suspended.
	VerdictExpired            VerdictCode = "expired"             // The license has ended, and so has its grace period.
	VerdictScheduled          VerdictCode = "scheduled"           // The license has not started yet.
	VerdictProductMismatch    VerdictCode = "product_mismatch"    // The license is for another product.
	VerdictCustomerMismatch   VerdictCode = "customer_mismatch"   // The license is for another customer.
	VerdictUpdatesEnded       VerdictCode = "updates_ended"       // The program was built after updates_until. Older builds keep running.
	VerdictNotActivated       VerdictCode = "not_activated"       // The fingerprint has no activation, or released it. Activate it.
	VerdictLeaseEnded         VerdictCode = "lease_ended"         // The activation was not validated in time. Activate it again.
	VerdictEvicted            VerdictCode = "evicted"             // Another activation took over the seat.
	VerdictActivationLimit    VerdictCode = "activation_limit"    // The fingerprint is not activated, and no seat is free.
	VerdictUsageLimit         VerdictCode = "usage_limit"         // The limit of a meter would be exceeded.
	VerdictMeterMissing       VerdictCode = "meter_missing"       // The license lacks a meter.
	VerdictEntitlementMissing VerdictCode = "entitlement_missing" // The license lacks a requested entitlement.
)

// More codes of the reason why a valid license allows no file, beside
// [VerdictActivationLimit]: it has more active activations than seats.
const (
	VerdictFileTooLarge  VerdictCode = "file_too_large" // The entitlements do not fit into a license file.
	VerdictLeaseRequired VerdictCode = "lease_required" // An activation per process gets a file only with lease_seconds, and without offline_seconds.
)
