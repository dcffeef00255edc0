package dashboard

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/forms"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/kit"
	"github.com/seed-d8a106b4/licensekit/licensing/selling"
)

// planFields returns the form for a plan, which has fields of the form for a
// license.
func planFields(t api.Plan) *forms.Form {
	terms := licenseForm(api.License{Name: t.Name, ProductID: t.ProductID, Terms: t.Terms}, time.UTC)
	name, product, seats := terms.Field("name"), terms.Field("product_id"), terms.Field("max_activations")
	name.Hint, name.Required = "The name that you use. Leave blank for the plan ID.", false
	seats.Hint = "For each unit of a purchase. Leave blank for unlimited."
	terms.Field("meters").Hint += " A limit is for each unit of a purchase."
	product.Half, seats.Half = false, false
	f := forms.NewForm(
		name, product,
		forms.Radios("kind", kit.ChangeLabel("kind"), cmp.Or(t.Kind, api.PlanBase),
			forms.Option{Value: string(api.PlanBase), Label: "A license", Hint: "It makes a license, which is valid while one of its purchases counts."},
			forms.Option{Value: string(api.PlanAddOn), Label: "An extra for a license", Hint: "It adds activations, entitlements and usage limits to a license. It has no time without contact, offline time or end of updates."}),
		&forms.Field{Name: "line", Label: kit.ChangeLabel("line"), Hint: "The same text in all plans whose purchases continue each other, such as the plan ID of the first year. Leave blank for the plan ID; an extra without a group adds to every other purchase.", Type: "text", Value: t.Line, Mono: true, MaxLength: 255},
		forms.TermField("duration", "Duration", "Used when the end of a purchase is not known. Leave blank for no end.", t.Duration),
		forms.Radios("starts", kit.ChangeLabel("starts"), t.Starts,
			forms.Option{Value: "", Label: "With the purchase"},
			forms.Option{Value: string(api.StartsActivation), Label: "With the first activation of the license", Hint: "Before that, the license has no end."}),
		forms.Radios("until_ends", kit.ChangeLabel("until_ends"), cmp.Or(t.UntilEnds, api.UntilEndsLicense),
			forms.Option{Value: string(api.UntilEndsLicense), Label: "The license"},
			forms.Option{Value: string(api.UntilEndsUpdates), Label: "Only updates", Hint: "The license does not expire. It is valid for builds that were made before."}),
		terms.Field("grace_seconds"), seats, terms.Field("lease_seconds"),
		forms.AmountField("offline_seconds", "Offline time", "How long a license file for a key holder is valid at most. Leave blank for the default of the service.", t.OfflineSeconds),
		terms.Field("entitlements"), terms.Field("meters"),
	)
	first := []string{"name", "product_id", "duration", "max_activations"} // and the plan ID
	for _, x := range f.Fields {
		x.More, x.Title = !slices.Contains(first, x.Name), ""
	}
	return f
}

// readPlan parses the values of the form for a plan.
func readPlan(v *kit.Visit, f *forms.Form, id string) (api.PutPlanParams, error) {
	p := api.PutPlanParams{ID: id}
	forms.Decode(f.Values(), &p)
	return p, forms.Check(v, f, &p)
}

func newPlanForm(v *kit.Visit) (*forms.FormPage, error) {
	p := forms.NewFormPage("plans", kit.Lists["plans"], "New plan",
		"The terms of a plan are copied to licenses. A change of the plan affects other licenses only when you apply it to existing licenses.")
	p.Form, p.Action, p.Done, p.Once = planFields(api.Plan{}), "Create plan", "The plan has been created.", true
	p.Form.Insert(0, &forms.Field{
		Name: "id", Label: "Plan ID", Hint: "Use the ID of the price at your payment provider. It cannot be changed later.", Type: "text", Required: true, Mono: true, MaxLength: 255,
		Value: v.R.URL.Query().Get("id"),
	})
	p.Do = func(tx *kit.Visit) (string, error) {
		params, err := readPlan(tx, p.Form, strings.TrimSpace(p.Form.Field("id").Value))
		if err != nil {
			return "", err
		}
		t, created, err := inner.Of(tx.Licenses).Plans().PutPlan(tx.R.Context(), params)
		if err == nil && !created { // undoes the change
			err = api.Invalid("id", "taken", "is the ID of another plan")
		}
		p.Then = func(v *kit.Visit) error { return takeUpForNewPlan(v, t.ID) }
		return kit.PlanPath(t.ID), err
	}
	return p, nil
}

// planFormPage returns a page with a form about a plan.
func planFormPage(t api.Plan, heading string, text ...string) *forms.FormPage {
	return forms.NewFormPage("plans", kit.Place{Title: t.Name, Path: kit.PlanPath(t.ID)}, heading, text...)
}

func editPlanForm(v *kit.Visit, t api.Plan) (*forms.FormPage, error) {
	p := planFormPage(t, "Edit plan", "Licenses that have the plan keep their terms until you apply it to them.")
	p.Form, p.Action, p.Version = planFields(t), kit.SaveChanges, t.Version().String()
	p.Done = kit.NoticeSaved + " Licenses that have the plan keep their terms until you apply it to them, under More."
	p.Do = func(tx *kit.Visit) (string, error) {
		params, err := readPlan(tx, p.Form, t.ID)
		if err != nil {
			return "", err
		}
		after, err := selling.New(tx.Licenses).PutPlan(tx.R.Context(), params)
		if after.Revision == t.Revision {
			p.Done = kit.NoticeUnchanged
		}
		return "", err
	}
	return p, nil
}

func deletePlanForm(v *kit.Visit, t api.Plan) (*forms.FormPage, error) {
	p := planFormPage(t, "Delete plan",
		"Licenses with this plan keep their terms, and so do their purchases.",
		"New purchases of the plan wait until there is a plan with this ID again.")
	use, err := planUses(v)
	p.Licenses = new(use(t.ID))
	p.Danger, p.Done, p.Version = true, "The plan has been deleted.", t.Version().String()
	p.Do = func(tx *kit.Visit) (string, error) {
		return "plans", selling.New(tx.Licenses).DeletePlan(tx.R.Context(), api.DeletePlanParams{ID: t.ID})
	}
	return p, err
}
