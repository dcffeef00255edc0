package license

import (
	"fmt"
	"slices"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/valid"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/core/record"
	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
	"github.com/seed-d8a106b4/licensekit/store"
)

// A Verdict reports whether a license is valid at an instant and, if not,
// all reasons. Its JSON form is the API's.
type Verdict struct {
	Valid bool `json:"valid"`
	// Code is "valid" or "in_grace" for a valid license, otherwise the code
	// of the first reason.
	Code VerdictCode `json:"code"`
	// Reasons lists everything that makes the license invalid, in the order
	// of the constants of [VerdictCode]. Never nil.
	Reasons []Reason `json:"reasons"`
	// License is the license without its key; nil if no license has the key.
	License *License `json:"license"`
	// Activation is the activation of the fingerprint; nil if there is
	// none.
	Activation *Activation `json:"activation"`
	// NextChangeAt is when the verdict next changes with the passage of
	// time; nil: never.
	NextChangeAt *time.Time `json:"next_change_at"`
	// RecheckAfter is after how many seconds to validate again, at least 1:
	// no later than NextChangeAt, than half of the remaining lease of an
	// active activation, and than a periodic check.
	RecheckAfter int64 `json:"recheck_after"`

	// File is the license file that the request asked for, in answers of the
	// API. In Go it is empty: sign FileClaims with Handler.Files().Sign, after
	// the Update has been committed.
	File string `json:"file,omitempty"`
	// FileReason says why a valid license allows no file, if the request
	// asked for one; nil: it does.
	FileReason *Reason `json:"file_reason,omitempty"`

	claims *licensefile.Claims
}

// FileClaims returns the claims of the license file that the request asked for;
// nil: there is none.
func (v Verdict) FileClaims() *licensefile.Claims { return v.claims }

// A Reason is one thing that makes a license invalid.
type Reason struct {
	Code   VerdictCode `json:"code"`
	Detail string      `json:"detail"` // one sentence for humans
}

// A VerdictCode is the code of a verdict or a reason. The list may grow.
type VerdictCode string

// The codes of a verdict, in the order of the reasons.
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
	VerdictNotActivated       VerdictCode = "not_activated"       // the fingerprint has no activation, or released it
	VerdictLeaseEnded         VerdictCode = "lease_ended"         // the activation was not renewed in time
	VerdictEvicted            VerdictCode = "evicted"             // another activation took over the seat
	VerdictActivationLimit    VerdictCode = "activation_limit"    // the fingerprint is not activated, and no seat is free
	VerdictEntitlementMissing VerdictCode = "entitlement_missing" // the license lacks a requested entitlement
)

// How long a program may rely on a verdict that time does not change.
const (
	recheckValid   = 24 * time.Hour
	recheckInvalid = time.Hour // an operator may have fixed it
)

// A question holds what a verdict is about, apart from the license.
type question struct {
	productID, customerID string // empty: not checked
	fingerprint           string // empty: no activation is checked
	entitlements          []string
}

// facts are what the store holds about a question at an instant.
type facts struct {
	at      time.Time
	license record.License
	found   bool
	// seat is the activation of the fingerprint.
	seat   record.Activation
	seated bool
	// renewedTo is the end of a lease that starts now, if the activation is
	// renewed; zero: none.
	renewedTo time.Time
	// taken is how many seats are in use, with those of spent; set if the
	// fingerprint uses none and seats are limited.
	taken int
	// spent is how many spent seats count as taken; see countSpent.
	spent       int
	holdOffline bool // Options.HoldOffline
	// count is how many activations were not released or evicted: taken,
	// plus those whose lease has ended.
	count   int
	recount bool // the stored count is missing or outdated
}

// evaluate returns the verdict on a question.
func evaluate(q question, f facts) (Verdict, error) {
	at := f.at
	if !f.found {
		v := deny(Reason{VerdictNotFound, "No license has this key; check it for typos."})
		v.RecheckAfter = seconds(recheckInvalid)
		return v, nil
	}
	v := verdictAt(q, f, at)
	l, err := fromRecord(f.license, at)
	if err != nil {
		return Verdict{}, err
	}
	l.Key = ""
	v.License = &l
	if f.seated {
		a, err := activationAt(f.seat, at)
		if err != nil {
			return Verdict{}, err
		}
		v.Activation = &a
	}
	v.NextChangeAt = nextChange(q, f, at, v)
	v.RecheckAfter = recheckAfter(v, f.renewedTo, at)
	return v, nil
}

// deny returns a verdict of invalid with the given reasons.
func deny(reasons ...Reason) Verdict { return Verdict{Code: reasons[0].Code, Reasons: reasons} }

// verdictAt returns the verdict at an instant.
func verdictAt(q question, f facts, at time.Time) Verdict {
	reasons := slices.Concat(timeReasons(f.license, at), scopeReasons(q, f.license), seatReasons(q, f, at), entitlementReasons(q, f.license))
	switch {
	case len(reasons) > 0:
		return deny(reasons...)
	case statusAt(f.license.License, at) == StatusExpired:
		return Verdict{Valid: true, Code: VerdictInGrace, Reasons: []Reason{}}
	}
	return Verdict{Valid: true, Code: VerdictValid, Reasons: []Reason{}}
}

// timeReasons checks the stored state and the time, independently.
func timeReasons(l record.License, at time.Time) (reasons []Reason) {
	switch l.State {
	case store.StateRevoked:
		reasons = append(reasons, Reason{VerdictRevoked, "The license was revoked."})
	case store.StateSuspended:
		reasons = append(reasons, Reason{VerdictSuspended, "The license is suspended."})
	}
	if !l.ExpiresAt.IsZero() && !at.Before(graceEnd(l)) {
		reasons = append(reasons, Reason{VerdictExpired, "The license expired at " + l.ExpiresAt.Format(time.RFC3339) + "."})
	}
	if !l.StartsAt.IsZero() && at.Before(l.StartsAt) {
		reasons = append(reasons, Reason{VerdictScheduled, "The license starts at " + l.StartsAt.Format(time.RFC3339) + "."})
	}
	return reasons
}

// graceEnd returns when an expiring license stops being valid.
func graceEnd(l record.License) time.Time {
	return l.ExpiresAt.Add(time.Duration(l.GraceSeconds) * time.Second)
}

func scopeReasons(q question, l record.License) (reasons []Reason) {
	if q.productID != "" && q.productID != l.ProductID {
		reasons = append(reasons, Reason{VerdictProductMismatch, "The license is for another product."})
	}
	if q.customerID != "" && q.customerID != l.CustomerID {
		reasons = append(reasons, Reason{VerdictCustomerMismatch, "The license is for another customer."})
	}
	return reasons
}

func seatReasons(q question, f facts, at time.Time) (reasons []Reason) {
	if q.fingerprint == "" || f.holdsSeatAt(at) {
		return nil
	}
	reason := Reason{VerdictNotActivated, "The fingerprint is not activated; activate it first."}
	if f.seated {
		switch activationStatusAt(f.seat, at) {
		case ActivationLeaseEnded:
			reason = Reason{VerdictLeaseEnded, "The lease ended at " + f.seat.LeaseEndsAt.Format(time.RFC3339) + " because it was not renewed; activate again."}
		case ActivationEvicted:
			reason = Reason{VerdictEvicted, "Another activation took over the seat at " + f.seat.EndedAt.Format(time.RFC3339) + "."}
		}
	}
	reasons = append(reasons, reason)
	if f.full() {
		reasons = append(reasons, fullReason(f.license))
	}
	return reasons
}

func fullReason(l record.License) Reason {
	return Reason{VerdictActivationLimit, fmt.Sprintf("No seat is free; the license has %d.", l.MaxActivations)}
}

func entitlementReasons(q question, l record.License) (reasons []Reason) {
	if len(q.entitlements) == 0 {
		return nil
	}
	granted := map[string]any{}
	_ = decode(l.Entitlements, &granted) // evaluate decodes the document too, and returns the error
	for _, name := range q.entitlements {
		if _, ok := granted[name]; !ok {
			reasons = append(reasons, Reason{VerdictEntitlementMissing, fmt.Sprintf("The license does not include %q.", name)})
		}
	}
	return reasons
}

// holdsSeat reports whether the fingerprint uses a seat.
func (f facts) holdsSeat() bool { return f.holdsSeatAt(f.at) }

func (f facts) holdsSeatAt(at time.Time) bool {
	return f.seated && activationStatusAt(f.seat, at) == ActivationLive
}

// full reports whether no seat is free.
func (f facts) full() bool {
	return f.license.MaxActivations >= 0 && int64(f.taken) >= f.license.MaxActivations
}

// nextChange returns when time next changes the verdict: the first instant
// at which a change of the license or activation changes the code. An
// instant past the year 9999, where a long grace period can end, has no JSON
// form and counts as never.
func nextChange(q question, f facts, at time.Time, v Verdict) *time.Time {
	var instants []time.Time
	if l := f.license; !l.ExpiresAt.IsZero() {
		instants = append(instants, l.ExpiresAt, graceEnd(l))
	}
	instants = append(instants, f.license.StartsAt, f.seat.LeaseEndsAt)
	slices.SortFunc(instants, time.Time.Compare)
	for _, t := range instants {
		if t.After(at) && valid.IsInstant(t) && verdictAt(q, f, t).Code != v.Code {
			return &t
		}
	}
	return nil
}

// recheckAfter returns after how many seconds to validate again. renewedTo is
// the end of a lease that starts now, if the validation renews it.
func recheckAfter(v Verdict, renewedTo, at time.Time) int64 {
	wait := recheckInvalid
	if v.Valid {
		wait = recheckValid
	}
	// The lease of an active activation may need renewal whether or not the
	// license is valid. Rechecking at half of it leaves time for a retry.
	if a := v.Activation; a != nil && a.Status == ActivationLive && a.LeaseEndsAt != nil {
		end := *a.LeaseEndsAt
		if end.Before(renewedTo) {
			end = renewedTo // not yet written; see renewSeat
		}
		if end.After(at) { // not only held by a license file
			wait = min(wait, end.Sub(at)/2).Truncate(time.Second)
		}
	}
	if v.NextChangeAt != nil {
		wait = min(wait, v.NextChangeAt.Sub(at))
	}
	return max(1, seconds(wait))
}

// seconds rounds up, so that a program that waits that long is not early.
func seconds(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }
