package plans

import (
	"context"
	"slices"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/terms"
	"github.com/seed-d8a106b4/licensekit/store"
)

// maxSeats is the largest MaxActivations of a license.
const maxSeats = 1_000_000

// TermsOfPlan returns the terms of a license with a number of units of a plan, and whether
// a limit is less than it should be, because no license has as many.
func TermsOfPlan(t api.Plan, units int64) (fields api.Terms, clamped bool) {
	fields = t.Terms
	if n := t.MaxActivations; n != nil {
		all := units * *n
		fields.MaxActivations, clamped = new(min(all, maxSeats)), all > maxSeats
	}
	var over bool
	fields.Meters, over = terms.MetersOf(t, units)
	return fields, clamped || over
}

// EndOfPlan returns when what a plan's Duration ends does so if it begins at from; zero:
// never.
func EndOfPlan(t api.Plan, from time.Time) (end time.Time) {
	if !t.Duration.IsZero() {
		end = t.Duration.AddTo(from)
	}
	return end
}

// EndsOf returns ExpiresAt and UpdatesUntil of a license whose purchase ends at end;
// zero: never.
func EndsOf(t api.Plan, end time.Time) (expires, updates time.Time) {
	if t.UntilEnds == api.UntilEndsUpdates {
		return time.Time{}, end
	}
	return end, time.Time{}
}

// FillPlan fills in what p leaves to its plan, which is set.
func (s Service) FillPlan(ctx context.Context, r store.Reader, p *api.CreateLicenseParams) error {
	plan, ok, err := s.FindPlan(ctx, r, p.PlanID)
	if err != nil {
		return err
	}
	if !ok {
		return &api.InvalidError{Fields: append(call.CheckGiven(p), ErrUnknownPlan.(*api.InvalidError).Fields...)}
	}
	if plan.Kind == api.PlanAddOn {
		return ErrAddOn
	}
	left := func(name string, empty bool) bool { return empty && !slices.Contains(p.Explicit, name) }
	if left("product_id", p.ProductID == "") {
		p.ProductID = plan.ProductID
	}
	if p.ProductID != plan.ProductID {
		return ErrOtherProduct
	}
	from := s.Now()
	if p.StartsAt != nil && p.StartsAt.After(from) {
		from = *p.StartsAt
	}
	expires, updates := EndsOf(plan, EndOfPlan(plan, from))
	if plan.Starts == api.StartsActivation {
		expires, updates = time.Time{}, time.Time{}
	}
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
	if left("meters", p.Meters == nil) {
		p.Meters = plan.Meters
	}
	return nil
}

var (
	ErrUnknownPlan  = api.Invalid("plan_id", api.FieldUnknown, "is not the id of a plan; see the list of plans")
	ErrAddOn        = api.Invalid("plan_id", api.FieldOutOfRange, "is a plan of an add-on; only a purchase with a license_id can have it")
	ErrOtherProduct = api.Invalid("plan_id", api.FieldUnknown, "is a plan of another product")
)
