package license

import (
	"fmt"
	"slices"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

// A Verdict says whether a license is valid at an instant, and if not, every
// reason. Its JSON is its form on the wire.
type Verdict struct {
	Valid bool `json:"valid"`
	// Code is "valid" or "in_grace" for a valid license, and else that of
	// the first reason.
	Code Code `json:"code"`
	// Reasons lists all that makes the license invalid, in the order of
	// [VerdictCodes]. Never nil.
	Reasons []Reason `json:"reasons"`
	// License is the license, without its key; nil if there is none.
	License *License `json:"license"`
	// Activation is that of the fingerprint asked about; nil if there is
	// none.
	Activation *Activation `json:"activation"`
	// NextChangeAt is when the verdict changes by itself, if nobody does
	// anything; nil: never.
	NextChangeAt *time.Time `json:"next_change_at"`
	// RecheckAfter is in how many seconds to ask again: after at most half
	// of what is left of the lease of an active activation, when the
	// verdict changes, and now and then in between; at least 1.
	RecheckAfter int64 `json:"recheck_after"`
}

// A Reason is one thing that makes a license invalid.
type Reason struct {
	Code   Code   `json:"code"`
	Detail string `json:"detail"` // one sentence for people
}

// A Code says in one word what a verdict or a reason is. The list may grow.
type Code string

// The codes of a verdict.
const (
	VerdictValid              Code = "valid"
	VerdictInGrace            Code = "in_grace"            // past ExpiresAt, and valid until the grace ends
	VerdictNotFound           Code = "not_found"           // no license has the key
	VerdictRevoked            Code = "revoked"             //
	VerdictSuspended          Code = "suspended"           //
	VerdictExpired            Code = "expired"             // past ExpiresAt and the grace
	VerdictScheduled          Code = "scheduled"           // before StartsAt
	VerdictProductMismatch    Code = "product_mismatch"    // of another product than the one asked about
	VerdictCustomerMismatch   Code = "customer_mismatch"   // of another customer
	VerdictNotActivated       Code = "not_activated"       // the fingerprint holds no seat, or released it
	VerdictLeaseEnded         Code = "lease_ended"         // it held one, and did not renew it in time
	VerdictEvicted            Code = "evicted"             // it held one, and another took it over
	VerdictActivationLimit    Code = "activation_limit"    // it holds none, and none is free
	VerdictEntitlementMissing Code = "entitlement_missing" // the license lacks what was asked about
)

// VerdictCodes returns every code, in the order in which reasons are listed.
func VerdictCodes() []Code {
	return []Code{
		VerdictValid, VerdictInGrace, VerdictNotFound, VerdictRevoked, VerdictSuspended, VerdictExpired,
		VerdictScheduled, VerdictProductMismatch, VerdictCustomerMismatch, VerdictNotActivated,
		VerdictLeaseEnded, VerdictEvicted, VerdictActivationLimit, VerdictEntitlementMissing,
	}
}

// How long a program may trust a verdict that does not change by itself.
const (
	recheckValid   = 24 * time.Hour
	recheckInvalid = time.Hour // an operator may have mended it
)

// A question is what a verdict is asked about, besides the license.
type question struct {
	productID, customerID string // empty: not asked
	fingerprint           string // empty: no seat is asked about
	entitlements          []string
}

// A finding is what the store knows about a question at an instant.
type finding struct {
	at      time.Time
	license store.License
	found   bool
	// seat is the activation of the fingerprint.
	seat   store.Activation
	seated bool
	// taken is how many seats are taken; set if the fingerprint has none,
	// and their number is limited.
	taken int
	// count is how many activations were not ended: taken, and those whose
	// lease has ended.
	count   int
	recount bool // count is not what is stored, or other activations were changed
}

// judge answers a question.
func judge(q question, f finding) (Verdict, error) {
	at := f.at
	if !f.found {
		v := deny(Reason{VerdictNotFound, "No license has this key; check it for slips."})
		v.RecheckAfter = seconds(recheckInvalid)
		return v, nil
	}
	v := weigh(q, f, at)
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
	v.RecheckAfter = recheckAfter(v, at)
	return v, nil
}

// deny returns a verdict with reasons against the license.
func deny(reasons ...Reason) Verdict { return Verdict{Code: reasons[0].Code, Reasons: reasons} }

// weigh collects the reasons against a license at an instant.
func weigh(q question, f finding, at time.Time) Verdict {
	reasons := slices.Concat(weighTime(f.license, at), weighScope(q, f.license), weighSeat(q, f, at), weighEntitlements(q, f.license))
	switch {
	case len(reasons) > 0:
		return deny(reasons...)
	case statusAt(f.license, at) == StatusExpired:
		return Verdict{Valid: true, Code: VerdictInGrace, Reasons: []Reason{}}
	}
	return Verdict{Valid: true, Code: VerdictValid, Reasons: []Reason{}}
}

// weighTime judges the stored state and the clock, each by itself.
func weighTime(l store.License, at time.Time) (reasons []Reason) {
	switch l.State {
	case store.StateRevoked:
		reasons = append(reasons, Reason{VerdictRevoked, "The license was revoked."})
	case store.StateSuspended:
		reasons = append(reasons, Reason{VerdictSuspended, "The license is suspended."})
	}
	if !l.ExpiresAt.IsZero() && !at.Before(graceEnd(l)) {
		reasons = append(reasons, Reason{VerdictExpired, "The license ended at " + l.ExpiresAt.Format(time.RFC3339) + "."})
	}
	if !l.StartsAt.IsZero() && at.Before(l.StartsAt) {
		reasons = append(reasons, Reason{VerdictScheduled, "The license begins at " + l.StartsAt.Format(time.RFC3339) + "."})
	}
	return reasons
}

// graceEnd returns when a license that ends stops being valid.
func graceEnd(l store.License) time.Time {
	return l.ExpiresAt.Add(time.Duration(l.GraceSeconds) * time.Second)
}

func weighScope(q question, l store.License) (reasons []Reason) {
	if q.productID != "" && q.productID != l.ProductID {
		reasons = append(reasons, Reason{VerdictProductMismatch, "The license is for another product."})
	}
	if q.customerID != "" && q.customerID != l.CustomerID {
		reasons = append(reasons, Reason{VerdictCustomerMismatch, "The license is another customer's."})
	}
	return reasons
}

func weighSeat(q question, f finding, at time.Time) (reasons []Reason) {
	if q.fingerprint == "" || f.holdsSeatAt(at) {
		return nil
	}
	reason := Reason{VerdictNotActivated, "The fingerprint has no activation; activate it first."}
	if f.seated {
		switch activationStatusAt(f.seat, at) {
		case ActivationLeaseEnded:
			reason = Reason{VerdictLeaseEnded, "The activation ended at " + f.seat.LeaseEndsAt.Format(time.RFC3339) + ", as it was not renewed; activate again."}
		case ActivationEvicted:
			reason = Reason{VerdictEvicted, "Another took over the seat at " + f.seat.EndedAt.Format(time.RFC3339) + "."}
		}
	}
	reasons = append(reasons, reason)
	if f.full() {
		reasons = append(reasons, fullReason(f.license))
	}
	return reasons
}

func fullReason(l store.License) Reason {
	return Reason{VerdictActivationLimit, fmt.Sprintf("All seats of the license are taken; it has %d.", l.MaxActivations)}
}

func weighEntitlements(q question, l store.License) (reasons []Reason) {
	if len(q.entitlements) == 0 {
		return nil
	}
	granted := map[string]any{}
	_ = decode(l.Entitlements, &granted) // judge reads the document again, and reports
	for _, name := range q.entitlements {
		if _, ok := granted[name]; !ok {
			reasons = append(reasons, Reason{VerdictEntitlementMissing, fmt.Sprintf("The license does not include %q.", name)})
		}
	}
	return reasons
}

// holdsSeat reports whether the fingerprint asked about holds a seat.
func (f finding) holdsSeat() bool { return f.holdsSeatAt(f.at) }

func (f finding) holdsSeatAt(at time.Time) bool {
	return f.seated && activationStatusAt(f.seat, at) == ActivationLive
}

// full reports whether no seat is free.
func (f finding) full() bool {
	return f.license.MaxActivations >= 0 && int64(f.taken) >= f.license.MaxActivations
}

// nextChange returns when the verdict becomes another one by itself: the
// first of the instants at which anything about the license or the seat
// changes that makes a difference to the code. One past the year 9999, where a
// long grace can end, has no form on the wire, and is never.
func nextChange(q question, f finding, at time.Time, v Verdict) *time.Time {
	var instants []time.Time
	if l := f.license; !l.ExpiresAt.IsZero() {
		instants = append(instants, l.ExpiresAt, graceEnd(l))
	}
	instants = append(instants, f.license.StartsAt, f.seat.LeaseEndsAt)
	slices.SortFunc(instants, time.Time.Compare)
	for _, t := range instants {
		if t.After(at) && isInstant(t) && weigh(q, f, t).Code != v.Code {
			return &t
		}
	}
	return nil
}

// recheckAfter returns in how many seconds to ask again.
func recheckAfter(v Verdict, at time.Time) int64 {
	wait := recheckInvalid
	if v.Valid {
		wait = recheckValid
	}
	// The lease of an active activation may have to be renewed whether the
	// license is valid or not. Asking at half of it leaves time for a retry.
	if a := v.Activation; a != nil && a.Status == ActivationLive && a.LeaseEndsAt != nil {
		wait = min(wait, a.LeaseEndsAt.Sub(at)/2).Truncate(time.Second)
	}
	if v.NextChangeAt != nil {
		wait = min(wait, v.NextChangeAt.Sub(at))
	}
	return max(1, seconds(wait))
}

// seconds rounds up, so that who waits that long does not come too early.
func seconds(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }
