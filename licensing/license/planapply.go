package license

import (
	"context"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/core/record"
	"github.com/seed-d8a106b4/licensekit/store"
)

// ApplyPlan replaces the grace period, activation limit, lease, offline time
// and entitlements of a license with those of a plan, and appends a
// license.updated event. A license of a purchase gets as many activations as its
// quantity buys. The key, dates, customer and metadata stay, and so does the plan
// of the purchase: the next change of that replaces the terms again. It returns
// an [*api.InvalidError] if the plan does not exist or is one of another product;
// other errors are those of [Service.Suspend], except for [*api.MoveError].
func (s *Service) ApplyPlan(ctx context.Context, p api.ApplyPlanParams) (api.License, error) {
	if err := check(p); err != nil {
		return api.License{}, err
	}
	var plan api.Plan
	var bought purchase
	return s.edit(ctx, edit{
		verb:   "apply plan to",
		event:  api.EventLicenseUpdated,
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
		apply: func(l api.License, next *record.License, _ time.Time) error {
			fields := paramsOf(l)
			takeTerms(&fields, plan, bought.units())
			writeFields(fields, next)
			return nil
		},
	})
}

// takeTerms replaces what ApplyPlan replaces.
func takeTerms(p *api.CreateLicenseParams, t api.Plan, units int64) {
	p.PlanID, p.Terms = t.ID, t.Terms
	p.MaxActivations, _ = seatsOfPlan(t, units)
}
