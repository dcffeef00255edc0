package seats

import (
	"fmt"
	"slices"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/licenses"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/terms"
	"github.com/seed-d8a106b4/licensekit/store"
)

// A question holds what a verdict is about, apart from the license.
type question struct {
	productID, customerID string // empty: not checked
	fingerprint           string // empty: no activation is checked
	entitlements          []string
	builtAt               time.Time // of the program; zero: not checked
}

// facts are what the store holds about a question at an instant.
type facts struct {
	at          time.Time
	license     record.License
	found       bool
	asked       question // for which the license is valid
	fingerprint string   // for which seat was read; empty: for none
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
	more        int64         // how many seats the call takes beside that of the fingerprint
	holdOffline bool          // Options.HoldOffline
	recheck     time.Duration // Options.RecheckAfter
	// count is how many activations were not released or evicted: taken,
	// plus those whose lease has ended.
	count int
}

// evaluate returns the verdict on a question.
func evaluate(q question, f facts) (api.Verdict, error) {
	at := f.at
	if !f.found {
		v := deny(api.Reason{Code: api.VerdictNotFound, Detail: "No license has this key; check it for typos."})
		v.RecheckAfter = call.Seconds(f.recheck)
		return v, nil
	}
	v := verdictAt(q, f, at)
	changes, err := licenses.ChangesOf(f.license)
	if err != nil {
		return api.Verdict{}, err
	}
	l, err := licenses.FromRecord(f.license, at)
	if err != nil {
		return api.Verdict{}, err
	}
	l.Key, l.Reference = "", ""
	for i := range l.Upcoming {
		l.Upcoming[i].Reference = ""
	}
	v.License = &l
	if f.seated {
		a, err := ActivationAt(f.seat, at)
		if err != nil {
			return api.Verdict{}, err
		}
		v.Activation = &a
	}
	v.NextChangeAt = nextChange(q, f, at, v, changes)
	v.RecheckAfter = recheckAfter(q, v, f, at, changes)
	return v, nil
}

// deny returns a verdict of invalid with the given reasons.
func deny(reasons ...api.Reason) api.Verdict {
	return api.Verdict{Code: reasons[0].Code, Reasons: reasons}
}

// verdictAt returns the verdict at an instant.
func verdictAt(q question, f facts, at time.Time) api.Verdict {
	reasons := slices.Concat(timeReasons(f.license, at), scopeReasons(q, f.license), seatReasons(q, f, at), entitlementReasons(q, f.license))
	switch {
	case len(reasons) > 0:
		return deny(reasons...)
	case licenses.StatusAt(f.license.License, at) == api.LicenseExpired:
		return api.Verdict{Valid: true, Code: api.VerdictInGrace, Reasons: []api.Reason{}}
	}
	return api.Verdict{Valid: true, Code: api.VerdictValid, Reasons: []api.Reason{}}
}

// timeReasons checks the stored state and the time, independently.
func timeReasons(l record.License, at time.Time) (reasons []api.Reason) {
	switch l.State {
	case store.StateRevoked:
		reasons = append(reasons, api.Reason{Code: api.VerdictRevoked, Detail: "The license was revoked."})
	case store.StateSuspended:
		reasons = append(reasons, api.Reason{Code: api.VerdictSuspended, Detail: "The license is suspended."})
	}
	if !l.ExpiresAt.IsZero() && !at.Before(licenses.GraceEnd(l)) {
		reasons = append(reasons, api.Reason{Code: api.VerdictExpired, Detail: "The license expired at " + l.ExpiresAt.Format(time.RFC3339) + "."})
	}
	if !l.StartsAt.IsZero() && at.Before(l.StartsAt) {
		reasons = append(reasons, api.Reason{Code: api.VerdictScheduled, Detail: "The license starts at " + l.StartsAt.Format(time.RFC3339) + "."})
	}
	return reasons
}

func scopeReasons(q question, l record.License) (reasons []api.Reason) {
	if q.productID != "" && q.productID != l.ProductID {
		reasons = append(reasons, api.Reason{Code: api.VerdictProductMismatch, Detail: "The license is for another product."})
	}
	if q.customerID != "" && q.customerID != l.CustomerID {
		reasons = append(reasons, api.Reason{Code: api.VerdictCustomerMismatch, Detail: "The license is for another customer."})
	}
	if until := l.UpdatesUntil; !until.IsZero() && q.builtAt.After(until) {
		reasons = append(reasons, api.Reason{Code: api.VerdictUpdatesEnded, Detail: "The license includes updates until " + until.Format(time.RFC3339) +
			", and this build is newer; builds made until then keep running."})
	}
	return reasons
}

func seatReasons(q question, f facts, at time.Time) (reasons []api.Reason) {
	if q.fingerprint == "" || f.holdsSeatAt(at) {
		return nil
	}
	reason := api.Reason{Code: api.VerdictNotActivated, Detail: "The fingerprint is not activated; activate it first."}
	if f.seated {
		switch activationStatusAt(f.seat, at) {
		case api.ActivationLeaseEnded:
			reason = api.Reason{Code: api.VerdictLeaseEnded, Detail: "The lease ended at " + f.seat.LeaseEndsAt.Format(time.RFC3339) + " because it was not renewed; activate again."}
		case api.ActivationEvicted:
			reason = api.Reason{Code: api.VerdictEvicted, Detail: "Another activation took over the seat at " + f.seat.EndedAt.Format(time.RFC3339) + "."}
		}
	}
	reasons = append(reasons, reason)
	if f.full() {
		reasons = append(reasons, f.fullReason())
	}
	return reasons
}

func (f facts) fullReason() api.Reason {
	detail := fmt.Sprintf("No seat is free; the license has %d.", f.license.MaxActivations)
	if f.more > 0 {
		detail = fmt.Sprintf("The office needs %d more seats, and fewer are free; the license has %d.", f.more+1, f.license.MaxActivations)
	}
	return api.Reason{Code: api.VerdictActivationLimit, Detail: detail}
}

func entitlementReasons(q question, l record.License) (reasons []api.Reason) {
	if len(q.entitlements) == 0 {
		return nil
	}
	granted := map[string]any{}
	_ = call.Decode(l.Entitlements, &granted) // evaluate decodes the document too, and returns the error
	for _, name := range q.entitlements {
		if _, ok := granted[name]; !ok {
			reasons = append(reasons, api.Reason{Code: api.VerdictEntitlementMissing, Detail: fmt.Sprintf("The license does not include %q.", name)})
		}
	}
	return reasons
}

// holdsSeat reports whether the fingerprint uses a seat.
func (f facts) holdsSeat() bool { return f.holdsSeatAt(f.at) }

func (f facts) holdsSeatAt(at time.Time) bool {
	return f.seated && activationStatusAt(f.seat, at) == api.ActivationLive
}

// full reports whether fewer seats are free than the call takes.
func (f facts) full() bool {
	return f.license.MaxActivations >= 0 && int64(f.taken)+f.more >= f.license.MaxActivations
}

// nextChange returns when time next changes the verdict: the first instant
// at which a change of the license or activation changes the code. At the last of all
// instants, nothing changes any more.
func nextChange(q question, f facts, at time.Time, v api.Verdict, changes []terms.Change) *time.Time {
	var instants []time.Time
	if l := f.license; !l.ExpiresAt.IsZero() {
		instants = append(instants, l.ExpiresAt, licenses.GraceEnd(l))
	}
	instants = append(instants, f.license.StartsAt, f.seat.LeaseEndsAt)
	for _, c := range changes {
		instants = append(instants, c.At)
	}
	slices.SortFunc(instants, time.Time.Compare)
	for _, t := range instants {
		if !t.After(at) || terms.IsLast(t) {
			continue
		}
		then := f
		if passed, err := licenses.Passed(f.license, t); err == nil { // evaluate has decoded it too
			then.license = passed
		}
		if verdictAt(q, then, t).Code != v.Code {
			return &t
		}
	}
	return nil
}

// recheckAfter returns after how many seconds to validate again.
func recheckAfter(q question, v api.Verdict, f facts, at time.Time, changes []terms.Change) int64 {
	wait := f.recheck
	asked := terms.Asked{Entitlements: q.entitlements, Updates: !q.builtAt.IsZero(), Activations: q.fingerprint != ""}
	if next := (terms.State{Changes: changes}).NextChange(asked); !next.IsZero() {
		wait = min(wait, next.Sub(at))
	}
	// The lease of an active activation may need renewal whether or not the
	// license is valid. Rechecking at half of it leaves time for a retry.
	if a := v.Activation; a != nil && a.Status == api.ActivationLive && a.LeaseEndsAt != nil {
		end := *a.LeaseEndsAt
		if end.Before(f.renewedTo) {
			end = f.renewedTo // not yet written; see renewSeat
		}
		if end.After(at) { // not only held by a license file
			wait = min(wait, end.Sub(at)/2).Truncate(time.Second)
		}
	}
	if v.NextChangeAt != nil {
		wait = min(wait, v.NextChangeAt.Sub(at))
	}
	return max(1, call.Seconds(wait))
}
