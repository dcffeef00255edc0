package terms

import (
	"cmp"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// Own returns the purchase that stands for a license that no purchase made. It
// counts only while no base purchase is granted that was not refunded. The terms
// are those of the license before its first purchase. Line is that of its plan.
func Own(licenseID, line string, createdAt time.Time, is Terms) Purchase {
	p := Purchase{Reference: ownPrefix + licenseID, FirstActive: createdAt, UntilSaid: true}
	p.Plan.Line = line
	p.take(is)
	return p
}

// OwnAwaiting is Own of a license whose plan starts with the first activation: its end
// is that of the plan's duration from that time.
func OwnAwaiting(licenseID string, plan api.Plan, createdAt time.Time, is Terms) Purchase {
	p := Own(licenseID, cmp.Or(plan.Line, plan.ID), createdAt, is)
	p.UntilSaid, p.Plan.Duration, p.Plan.UntilEnds, p.Plan.Starts = false, plan.Duration, plan.UntilEnds, plan.Starts
	return p
}

// ownEnds returns when the license would end if only its own purchase counted; zero: never.
func (p *Purchase) ownEnds() (end time.Time) {
	if !p.perpetual() {
		end = p.endFrom(p.begins())
	}
	return end
}

// take makes the terms of a license those of its own purchase.
func (p *Purchase) take(is Terms) {
	p.Plan.ID, p.Plan.ProductID, p.Name, p.Metadata = is.PlanID, is.ProductID, is.Name, is.Metadata
	p.Until, p.UpdatesUntil = is.ExpiresAt, is.UpdatesUntil
	p.Plan.GraceSeconds, p.Plan.Entitlements, p.Plan.Meters = is.GraceSeconds, is.Entitlements, is.Meters
	p.Plan.MaxActivations, p.Plan.LeaseSeconds, p.Plan.OfflineSeconds = optional(is.MaxActivations), optional(is.LeaseSeconds), optional(is.OfflineSeconds)
}

// optional returns a count as plans have it.
func optional(n int64) *int64 {
	if n < 0 {
		return nil
	}
	return &n
}

// count returns an optional count as terms have it: negative means none.
func count(n *int64) int64 {
	if n == nil {
		return -1
	}
	return *n
}

// takesOver reports whether a purchase takes the license over from its own.
func (s *span) takesOver() bool {
	return s.waits == "" && !s.isAddOn() && !s.isOwn() && s.RefundedAt.IsZero()
}

// heirOf returns the index of the purchase that continues a license that no
// purchase made: the first that takes it over for a duration, if the license had no
// plan or one of the same line; -1: none does.
func heirOf(spans []span, own *Purchase) int {
	if own == nil {
		return -1
	}
	for i := range spans {
		if s := &spans[i]; s.takesOver() && s.stacks() {
			if line := own.line(); line == "" || line == s.line() {
				return i
			}
			return -1
		}
	}
	return -1
}
