package purchases

import (
	"context"
	"fmt"
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
// and meters of a license with those of a plan. If the plan governs the license already, it
// gives its purchases the terms that the plan has now. It appends the event; see package
// selling.
func (s Service) ApplyPlan(ctx context.Context, p api.ApplyPlanParams) (api.License, error) {
	if err := call.Check(p); err != nil {
		return api.License{}, err
	}
	var l api.License
	err := s.Write(ctx, func(tx *call.Tx) error {
		rec, err := licenses.Of(s.Call).Find(ctx, tx, p.ID)
		if err != nil {
			return err
		}
		plan, ok, err := plans.Of(s.Call).FindPlan(ctx, tx, p.PlanID)
		switch {
		case err != nil:
			return err
		case !ok:
			return plans.ErrUnknownPlan
		case plan.Kind == api.PlanAddOn:
			return plans.ErrAddOn
		case plan.ProductID != rec.ProductID:
			return plans.ErrOtherProduct
		}
		var all []Purchase
		if rec.Bought {
			if all, err = OfLicense(ctx, tx, rec.ID); err != nil {
				return err
			}
		}
		governs := slices.IndexFunc(all, func(p Purchase) bool { return p.Reference == rec.Reference })
		if governs >= 0 && rec.PlanID == plan.ID && all[governs].Terms.Value.ID == plan.ID {
			before, err := licenses.FromRecord(rec, tx.Now)
			if err == nil {
				err = call.CheckVersion(before.Version(), p.IfMatch)
			}
			if err == nil {
				l, _, err = s.refresh(ctx, tx, rec, all, plan, p.Reason)
			}
			return err
		}
		units := int64(1)
		if governs >= 0 {
			units = all[governs].units()
		}
		given, _ := terms.GrantOf(termsOf(all...), rec.ProductID).At(tx.Now)
		l, err = licenses.Of(s.Call).EditIn(ctx, tx, licenses.Edit{
			Event:   api.EventLicenseUpdated,
			Reason:  p.Reason,
			Find:    func(store.Reader) (record.License, error) { return rec, nil },
			IfMatch: p.IfMatch,
			Apply: func(l api.License, next *record.License, _ time.Time) error {
				fields := licenses.ParamsOf(l)
				whole, _ := plans.TermsOfPlan(plan, units)
				fields.PlanID, fields.Terms = plan.ID, given.WithAddOns(whole)
				licenses.WriteFields(fields, next)
				return nil
			},
		})
		return err
	})
	if err != nil {
		return api.License{}, fmt.Errorf("apply plan to license: %w", err)
	}
	return s.Shown(l), nil
}
