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

// ApplyPlan replaces the grace period, activation limit, lease, offline time
// and entitlements of a license with those of a plan, and appends a
// license.updated event. A license of a purchase gets as many activations as its
// quantity buys. The key, dates, customer and metadata stay, and so does the plan
// of the purchase: the next change of that replaces the terms again. It returns
// an [*InvalidError] if the plan does not exist or is one of another product;
// other errors are those of [Service.Suspend], except for [*MoveError].
func (s *Service) ApplyPlan(ctx context.Context, p ApplyPlanParams) (License, error) {
	if err := check(p); err != nil {
		return License{}, err
	}
	var plan Plan
	var bought purchase
	return s.edit(ctx, edit{
		verb:   "apply plan to",
		event:  EventLicenseUpdated,
		reason: p.Reason,
		find: func(r store.Reader) (rec record.License, err error) {
			if rec, err = s.find(ctx, r, p.ID); err != nil {
				return rec, err
			}
			var ok bool
			if plan, ok, err = s.findPlan(ctx, r, p.PlanID); err == nil && !ok {
				err = errUnknownPlan
			} else if err == nil && plan.ProductID != rec.ProductID {
				err = errOtherProduct
			}
			if err == nil && rec.Reference != "" {
				bought, _, err = readPurchase(ctx, r, rec.Reference, s.now())
			}
			return rec, err
		},
		ifMatch: p.IfMatch,
		apply: func(l License, next *record.License, _ time.Time) error {
			fields := paramsOf(l)
			takeTerms(&fields, plan, bought.units())
			writeFields(fields, next)
			return nil
		},
	})
}

// takeTerms replaces what ApplyPlan replaces.
func takeTerms(p *CreateParams, t Plan, units int64) {
	p.PlanID, p.Terms = t.ID, t.Terms
	p.MaxActivations, _ = seatsOfPlan(t, units)
}
