package dashboard

import (
	"cmp"
	"strings"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/selling"
)

// planFields returns the form for a plan, which has fields of the form for a
// license.
func planFields(t api.Plan) *form {
	terms := licenseForm(api.License{Name: t.Name, ProductID: t.ProductID, Terms: t.Terms})
	name, product, seats := terms.Field("name"), terms.Field("product_id"), terms.Field("max_activations")
	name.Hint, name.Required = "The name that you use. Leave blank for the plan ID.", false
	seats.Hint = "For each unit of a purchase. Leave blank for unlimited."
	terms.Field("meters").Hint += " A limit is for each unit of a purchase."
	product.Half, seats.Half = false, false
	f := newForm(
		name, product,
		radios("kind", "A purchase is", cmp.Or(t.Kind, api.PlanBase),
			option{Value: string(api.PlanBase), Label: "A base", Hint: "It makes a license, which is valid while one of its bases counts."},
			option{Value: string(api.PlanAddOn), Label: "An add-on", Hint: "It adds activations, entitlements and meters to a license. It has no lease, offline time or end of updates."}),
		&field{Name: "line", Label: "Line", Hint: "The same text in all plans whose purchases continue each other, such as the plan ID of the first year. Leave blank for the plan ID; an add-on without a line adds to every other purchase.", Type: "text", Value: t.Line, Mono: true, MaxLength: 255},
		termField("duration", "Duration", "Used when the end of a purchase is not known. Leave blank for no end.", t.Duration),
		radios("starts", "The duration begins", t.Starts,
			option{Value: "", Label: "With the purchase"},
			option{Value: string(api.StartsActivation), Label: "With the first activation of the license", Hint: "Before that, the license has no end."}),
		radios("until_ends", "The end of a purchase ends", cmp.Or(t.UntilEnds, api.UntilEndsLicense),
			option{Value: string(api.UntilEndsLicense), Label: "The license"},
			option{Value: string(api.UntilEndsUpdates), Label: "Only updates", Hint: "The license does not expire. It is valid for builds that were made before."}),
		terms.Field("grace_seconds"), seats, terms.Field("lease_seconds"),
		amountField("offline_seconds", "Offline time", "How long a license file for a key holder is valid at most. Leave blank for the default of the service.", t.OfflineSeconds),
		terms.Field("entitlements"), terms.Field("meters"),
	)
	for _, x := range f.Fields { // some are shown on request in the form for a license
		x.More, x.Title = false, ""
	}
	return f
}

// readPlan parses the values of the form for a plan.
func (v *visit) readPlan(f *form, id string) (api.PutPlanParams, error) {
	p := api.PutPlanParams{ID: id}
	decode(f.values(), &p)
	return p, v.check(f, &p)
}

func newPlanForm(v *visit) (*formPage, error) {
	p := newFormPage("plans", lists["plans"], "New plan",
		"The terms of a plan are copied to licenses. A change of the plan affects other licenses only when you roll it out.")
	p.Form, p.Action, p.done, p.Once = planFields(api.Plan{}), "Create plan", "The plan has been created.", true
	p.Form.insert(0, &field{
		Name: "id", Label: "Plan ID", Hint: "Use the ID of the price at your payment provider. It cannot be changed later.", Type: "text", Required: true, Mono: true, MaxLength: 255,
		Value: v.r.URL.Query().Get("id"),
	})
	p.do = func(tx *visit) (string, error) {
		params, err := tx.readPlan(p.Form, strings.TrimSpace(p.Form.Field("id").Value))
		if err != nil {
			return "", err
		}
		t, created, err := inner.Of(tx.licenses).Plans().PutPlan(tx.r.Context(), params)
		if err == nil && !created { // undoes the change
			err = api.Invalid("id", "taken", "is the ID of another plan")
		}
		p.then = func(v *visit) error { return v.fulfillNewPlan(t.ID) }
		return planPath(t.ID), err
	}
	return p, nil
}

// planFormPage returns a page with a form about a plan.
func planFormPage(t api.Plan, heading string, text ...string) *formPage {
	return newFormPage("plans", place{t.Name, planPath(t.ID)}, heading, text...)
}

func editPlanForm(v *visit, t api.Plan) (*formPage, error) {
	p := planFormPage(t, "Edit plan", "Licenses that have the plan keep their terms until you roll it out.")
	p.Form, p.Action, p.Version = planFields(t), saveChanges, t.Version().String()
	p.done = noticeSaved + " Licenses that have the plan keep their terms until you roll it out, under More."
	p.do = func(tx *visit) (string, error) {
		params, err := tx.readPlan(p.Form, t.ID)
		if err != nil {
			return "", err
		}
		after, err := selling.New(tx.licenses).PutPlan(tx.r.Context(), params)
		if after.Revision == t.Revision {
			p.done = noticeUnchanged
		}
		return "", err
	}
	return p, nil
}

func deletePlanForm(v *visit, t api.Plan) (*formPage, error) {
	p := planFormPage(t, "Delete plan",
		"Licenses with this plan keep their terms, and so do their purchases.",
		"New purchases of the plan wait until there is a plan with this ID again.")
	use, err := v.planUses()
	p.Licenses = new(use(t.ID))
	p.Danger, p.done, p.Version = true, "The plan has been deleted.", t.Version().String()
	p.do = func(tx *visit) (string, error) {
		return "plans", selling.New(tx.licenses).DeletePlan(tx.r.Context(), api.DeletePlanParams{ID: t.ID})
	}
	return p, err
}
