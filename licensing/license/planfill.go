package license

import (
	"context"
	"slices"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/core/record"
	"github.com/seed-d8a106b4/licensekit/store"
)

// maxSeats is the largest MaxActivations of a license.
const maxSeats = 1_000_000

// seatsOfPlan returns the MaxActivations of a number of units of a plan, and whether that is less
// than they should be, because no license has as many.
func seatsOfPlan(t Plan, units int64) (n *int64, clamped bool) {
	if t.MaxActivations == nil {
		return nil, false
	}
	all := units * *t.MaxActivations
	few := min(all, maxSeats)
	return &few, few < all
}

// endOfPlan returns when what a plan's Duration ends does so if it begins at from; zero:
// never.
func endOfPlan(t Plan, from time.Time) (end time.Time) {
	if !t.Duration.IsZero() {
		end = t.Duration.AddTo(from)
	}
	return end
}

// endsOf returns ExpiresAt and UpdatesUntil of a license whose purchase ends at end;
// zero: never.
func endsOf(t Plan, end time.Time) (expires, updates time.Time) {
	if t.UntilEnds == UntilEndsUpdates {
		return time.Time{}, end
	}
	return end, time.Time{}
}

// fillPlan fills in what p leaves to its plan, which is set.
func (s *Service) fillPlan(ctx context.Context, r store.Reader, p *CreateParams) error {
	plan, ok, err := s.findPlan(ctx, r, p.PlanID)
	if err != nil {
		return err
	}
	if !ok {
		return &InvalidError{Fields: append(checkGiven(p), errUnknownPlan.(*InvalidError).Fields...)}
	}
	left := func(name string, empty bool) bool { return empty && !slices.Contains(p.Explicit, name) }
	if left("product_id", p.ProductID == "") {
		p.ProductID = plan.ProductID
	}
	if p.ProductID != plan.ProductID {
		return errOtherProduct
	}
	from := s.now()
	if p.StartsAt != nil && p.StartsAt.After(from) {
		from = *p.StartsAt
	}
	expires, updates := endsOf(plan, endOfPlan(plan, from))
	if left("expires_at", p.ExpiresAt == nil) {
		p.ExpiresAt = record.OptionalTime(expires)
	}
	if left("updates_until", p.UpdatesUntil == nil) {
		p.UpdatesUntil = record.OptionalTime(updates)
	}
	if left("grace_seconds", p.GraceSeconds == 0) {
		p.GraceSeconds = plan.GraceSeconds
	}
	if left("max_activations", p.MaxActivations == nil) {
		p.MaxActivations = plan.MaxActivations
	}
	if left("lease_seconds", p.LeaseSeconds == nil) {
		p.LeaseSeconds = plan.LeaseSeconds
	}
	if left("offline_seconds", p.OfflineSeconds == nil) {
		p.OfflineSeconds = plan.OfflineSeconds
	}
	if left("entitlements", p.Entitlements == nil) {
		p.Entitlements = plan.Entitlements
	}
	return nil
}

var (
	errUnknownPlan  = Invalid("plan_id", CodeUnknown, "is not the id of a plan; see the list of plans")
	errOtherProduct = Invalid("plan_id", CodeUnknown, "is a plan of another product")
)

// checkGiven is checkCreate without the fields that a plan may fill in.
func checkGiven(p *CreateParams) []FieldError {
	given := *p
	if p.PlanID != "" && p.ProductID == "" {
		given.ProductID = "-"
	}
	return checkCreate(&given)
}
