package dashboard

import (
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/selling"
)

// applyPlanForm gives a license the terms of a plan.
func applyPlanForm(v *visit, l api.License) (*formPage, error) {
	p := v.licenseFormPage(l, "Apply plan", "Apply plan",
		"This replaces the grace period, maximum activations, activation lease, offline time and entitlements with those of the plan. "+
			"A license that was bought gets as many activations as its quantity buys.",
		"The key, dates, updates, customer and metadata stay. So does the plan of a purchase: its next change of plan replaces the terms again.",
		"If it is the plan of the purchase that governs the license, the purchase gets the terms that the plan has now, its duration included, and what was set by hand stays unless the plan has changed it.")
	plan := &field{Name: "plan_id", Label: "Plan", Hint: "A plan ID of the product " + l.ProductID + ".", Type: "text", Value: l.PlanID, Required: true, MaxLength: 255}
	p.Form, p.Action, p.done = newForm(plan, reasonField("Optional. Recorded in the history.")), "Apply plan", "The license has the terms of the plan."
	p.Version = l.Version().String()
	p.prepare = func(v *visit) (err error) {
		plan.Select, err = v.offeredPlans(l.ProductID, plan.Value)
		return err
	}
	p.do = func(tx *visit) (string, error) {
		after, err := selling.New(tx.licenses).ApplyPlan(tx.r.Context(), api.ApplyPlanParams{
			ID: l.ID, PlanID: p.Form.Field("plan_id").Value, Reason: p.Form.Field("reason").Value,
		})
		if err == nil && after.Revision == l.Revision {
			p.done = noticeUnchanged
		}
		return "", err
	}
	return p, nil
}
