package dashboard

import (
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/selling"
)

// fillApplyPlan gives a license the terms of a plan.
func fillApplyPlan(v *visit, l api.License, p *formPage) {
	plan := &field{Name: "plan_id", Label: "Plan", Hint: "A plan ID of the product " + l.ProductID + ".", Type: "text", Value: l.PlanID, Required: true, MaxLength: 255}
	p.Form = newForm(plan, reasonField("Optional. Recorded in the history."))
	p.Version = l.Version().String()
	p.prepare = func(v *visit) (err error) {
		plan.Select, _, err = v.offeredPlans(l.ProductID, plan.Value)
		plan.Select = bases(plan.Select)
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
}
