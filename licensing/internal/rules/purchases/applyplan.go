package purchases

import (
	"context"
	"slices"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/licenses"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/plans"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/terms"
	"github.com/seed-d8a106b4/licensekit/store"
)

// ApplyPlan replaces the grace period, activation limit, lease, offline time, entitlements
// and meters of a license with those of a plan, and appends a license.updated event; see
// package selling.
func (s Service) ApplyPlan(ctx context.Context, p api.ApplyPlanParams) (api.License, error) {
	if err := call.Check(p); err != nil {
		return api.License{}, err
	}
	var plan api.Plan
	units, given := int64(1), terms.Terms{}
	return licenses.Of(s.Call).Edit(ctx, licenses.Edit{
		Verb:   "apply plan to",
		Event:  api.EventLicenseUpdated,
		Reason: p.Reason,
		Find: func(r store.Reader) (rec record.License, err error) {
			if rec, err = licenses.Of(s.Call).Find(ctx, r, p.ID); err != nil {
				return rec, err
			}
			var ok bool
			if plan, ok, err = plans.Of(s.Call).FindPlan(ctx, r, p.PlanID); err == nil && !ok {
				err = plans.ErrUnknownPlan
			} else if err == nil && plan.Kind == api.PlanAddOn {
				err = plans.ErrAddOn
			} else if err == nil && plan.ProductID != rec.ProductID {
				err = plans.ErrOtherProduct
			}
			if err != nil || !rec.Bought {
				return rec, err
			}
			all, err := purchasesOf(ctx, r, rec.ID)
			given, _ = terms.GrantOf(termsOf(all...), rec.ProductID).At(s.Now())
			if i := slices.IndexFunc(all, func(p Purchase) bool { return p.Reference == rec.Reference }); i >= 0 {
				units = all[i].units()
			}
			return rec, err
		},
		IfMatch: p.IfMatch,
		Apply: func(l api.License, next *record.License, _ time.Time) error {
			fields := licenses.ParamsOf(l)
			whole, _ := plans.TermsOfPlan(plan, units)
			fields.PlanID, fields.Terms = plan.ID, given.WithAddOns(whole)
			licenses.WriteFields(fields, next)
			return nil
		},
	})
}
