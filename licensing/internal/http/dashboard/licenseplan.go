package dashboard

import (
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/forms"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/kit"
	"github.com/seed-d8a106b4/licensekit/licensing/selling"
)

// fillApplyPlan gives a license the terms of a plan.
func fillApplyPlan(v *kit.Visit, l api.License, p *forms.FormPage) {
	plan := &forms.Field{Name: "plan_id", Label: "Plan", Hint: "A plan ID of the product " + l.ProductID + ".", Type: "text", Value: l.PlanID, Required: true, MaxLength: 255}
	p.Form = forms.NewForm(plan, forms.ReasonField("Optional. Recorded in the history."))
	p.Version = l.Version().String()
	p.Prepare = func(v *kit.Visit) (err error) {
		plan.Select, _, err = plansOffered(v, l.ProductID, plan.Value)
		plan.Select = bases(plan.Select)
		return err
	}
	p.Do = func(tx *kit.Visit) (string, error) {
		after, err := selling.New(tx.Licenses).ApplyPlan(tx.R.Context(), api.ApplyPlanParams{
			ID: l.ID, PlanID: p.Form.Field("plan_id").Value, Reason: p.Form.Field("reason").Value,
		})
		if err == nil && after.Revision == l.Revision {
			p.Done = kit.NoticeUnchanged
		}
		return "", err
	}
}
