package dashboard

import (
	"strings"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

// planFields returns the form for a plan, which has fields of the form for a
// license.
func planFields(t license.Plan) *form {
	terms := licenseForm(license.License{
		Name: t.Name, ProductID: t.ProductID, GraceSeconds: t.GraceSeconds,
		MaxActivations: t.MaxActivations, LeaseSeconds: t.LeaseSeconds, Entitlements: t.Entitlements,
	})
	name, product, seats := terms.Field("name"), terms.Field("product_id"), terms.Field("max_activations")
	name.Hint, name.Required = "The name that you use. Leave blank for the plan ID.", false
	seats.Hint = "For each unit of a purchase. Leave blank for unlimited."
	product.Half, seats.Half = false, false
	return newForm(
		name, product,
		termField("duration", "Duration", "Used when the end of a purchase is not known. Leave blank for no end.", t.Duration),
		untilEndsField(t.UntilEnds),
		terms.Field("grace"), seats, terms.Field("lease"),
		amountField("offline", "Offline time", "How long a license file for a key holder is valid at most. Leave blank for the default of the service.", t.OfflineSeconds),
		terms.Field("entitlements"),
	)
}

// untilEndsField is the choice of what a purchase ends.
func untilEndsField(chosen license.UntilEnds) *field {
	updates := chosen == license.UntilEndsUpdates
	return &field{Name: "until_ends", Label: "The end of a purchase ends", Type: "radios", Options: []option{
		{Value: string(license.UntilEndsLicense), Label: "The license", Chosen: !updates},
		{Value: string(license.UntilEndsUpdates), Label: "Only updates", Hint: "The license does not expire. It is valid for builds that were made before.", Chosen: updates},
	}}
}

// planFieldNames are the names of plan fields in the form.
var planFieldNames = map[string]string{"grace_seconds": "grace", "lease_seconds": "lease", "offline_seconds": "offline"}

// readPlan parses the values of the form for a plan.
func (v *visit) readPlan(f *form, id string) (p license.PutPlanParams, err error) {
	in := f.readLicense(v.h.opts.Now())
	p = license.PutPlanParams{
		ID: id, ProductID: f.Field("product_id").Value, Name: f.Field("name").Value, GraceSeconds: in.grace,
		MaxActivations: in.maxActivations, LeaseSeconds: in.leaseSeconds, OfflineSeconds: in.offlineSeconds, Entitlements: in.entitlements,
		UntilEnds: license.UntilEnds(f.Field("until_ends").chosen()),
	}
	if s := f.Field("duration").amount(); s != "" {
		var err error
		if p.Duration, err = parseTerm(s); err != nil {
			in.errors = append(in.errors, license.FieldError{Field: "duration", Code: license.CodeInvalidFormat, Detail: err.Error()})
		}
	}
	in.errors = append(in.errors, f.takeFieldErrors()...)
	return p, v.invalid(in.errors, &p)
}

func newPlanForm(*visit) (*formPage, error) {
	p := &formPage{
		Title: "New plan", Section: "plans", Back: "plans", Subject: "Plans", Action: "Create plan", done: "The plan has been created.", Once: true, names: planFieldNames,
		Text: []string{"The terms of a plan are copied to licenses. Changes of the plan affect only licenses that get its terms later."},
		Form: planFields(license.Plan{}),
	}
	p.Form.Groups[0].Fields = append([]*field{{
		Name: "id", Label: "Plan ID", Hint: "Use the ID of the price at your payment provider. It cannot be changed later.", Type: "text", Required: true, Mono: true, MaxLength: 255,
	}}, p.Form.Groups[0].Fields...)
	p.prepare = func(v *visit) error { return v.offerNames(p.Form) }
	p.do = func(tx *visit) (string, error) {
		params, err := tx.readPlan(p.Form, strings.TrimSpace(p.Form.Field("id").Value))
		if err != nil {
			return "", err
		}
		t, created, err := inner.Of(tx.licenses).PutPlan(tx.r.Context(), params)
		if err == nil && !created { // undoes the change
			err = license.Invalid("id", "taken", "is the ID of another plan")
		}
		return planPath(t.ID), err
	}
	return p, nil
}

// planFormPage returns a page with a form about the plan of the path.
func (v *visit) planFormPage(title, heading, action string) (*formPage, license.Plan, error) {
	t, err := v.licenses.GetPlan(v.r.Context(), v.r.PathValue("id"))
	return &formPage{
		Title: title + " " + t.Name, Section: "plans", Heading: heading, Form: newForm(), Action: action, Back: planPath(t.ID), Subject: t.Name,
		Version: t.Version().String(),
	}, t, err
}

func editPlanForm(v *visit) (*formPage, error) {
	p, t, err := v.planFormPage("Edit", "Edit plan", "Save changes")
	if err != nil {
		return nil, err
	}
	p.Text = []string{"Licenses that have the plan keep their terms."}
	p.Form, p.names, p.done = planFields(t), planFieldNames, noticeSaved
	p.prepare = func(v *visit) error { return v.offerNames(p.Form) }
	p.do = func(tx *visit) (string, error) {
		params, err := tx.readPlan(p.Form, t.ID)
		if err != nil {
			return "", err
		}
		after, err := tx.licenses.PutPlan(tx.r.Context(), params)
		if after.Revision == t.Revision {
			p.done = noticeUnchanged
		}
		return "", err
	}
	return p, nil
}

func deletePlanForm(v *visit) (*formPage, error) {
	p, t, err := v.planFormPage("Delete", "Delete plan", "Delete plan")
	if err != nil {
		return nil, err
	}
	use, err := v.planUses()
	if err != nil {
		return nil, err
	}
	licenses := use(t.ID)
	p.Licenses = &licenses
	p.Text = []string{
		"Licenses with this plan keep their terms, and so do their purchases.",
		"New purchases of the plan wait until there is a plan with this ID again.",
	}
	p.Danger, p.done = true, "The plan has been deleted."
	p.do = func(tx *visit) (string, error) {
		return "plans", tx.licenses.DeletePlan(tx.r.Context(), license.DeletePlanParams{ID: t.ID})
	}
	return p, nil
}
