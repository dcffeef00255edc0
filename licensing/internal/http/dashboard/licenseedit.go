package dashboard

import (
	"cmp"
	"errors"
	"slices"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/forms"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/kit"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/licensing/selling"
)

// offeredPlans is the maximum number of plans that a form offers in a list.
const offeredPlans = 50

// plansOffered returns the plans of a product, "" for all, as options, or none if there are
// more than a list offers. One that has been deleted is offered if it is the chosen one.
func plansOffered(v *kit.Visit, product, chosen string) (list []forms.Option, more bool, err error) {
	plans, err := selling.New(v.Licenses).ListPlans(v.R.Context(), api.ListPlansParams{ProductID: product, Limit: offeredPlans})
	if err != nil || plans.HasMore {
		return nil, plans.HasMore, err
	}
	for _, t := range plans.Data {
		v.Plans[t.ID] = t.Name
		o := forms.Option{Value: t.ID, Label: t.Name, Chosen: t.ID == chosen, AddOn: t.Kind == api.PlanAddOn}
		if t.Name != t.ID {
			o.Label += " (" + t.ID + ")"
		}
		list = append(list, o)
		if o.Chosen {
			chosen = ""
		}
	}
	if chosen != "" {
		list = append(list, forms.Option{Value: chosen, Label: chosen, Chosen: true})
	}
	return list, false, nil
}

// bases returns the offered plans without add-ons, which a purchase adds to a license.
func bases(list []forms.Option) []forms.Option {
	return slices.DeleteFunc(list, func(o forms.Option) bool { return o.AddOn })
}

// addPlans adds the choice of a plan to the form for a new license, if there are
// plans. What is left blank is then what the plan has.
func addPlans(v *kit.Visit, f *forms.Form) error {
	plan := &forms.Field{Name: "plan_id", Label: "From plan", Hint: "The plan fills in what you leave blank.", Type: "text", Value: v.R.URL.Query().Get("plan"), MaxLength: 255}
	plans, more, err := plansOffered(v, "", plan.Value)
	if plans = bases(plans); err != nil || len(plans) == 0 && !more {
		return err
	}
	if plan.Select = append([]forms.Option{{Label: "None"}}, plans...); more {
		plan.Select, plan.Hint = nil, "A plan ID. The plan fills in what you leave blank."
	}
	f.Insert(1, plan)
	f.Field("product_id").Hint = "Your ID for the product. Leave blank for that of the plan."
	f.Field("product_id").Required = false
	f.Field("max_activations").Hint = "Leave blank for that of the plan, or for unlimited without a plan."
	if x := f.Field("grace_seconds"); x.Value == "0" {
		x.Value, x.Hint = "", "How long the license stays valid after it expires. Leave blank for that of the plan. Enter 0 for none."
	}
	f.Field("lease_seconds").Hint += " A plan fills it in."
	term := f.Field("term")
	term.Options = append([]forms.Option{{Value: termOfPlan, Label: "Duration of the plan", Hint: "Without a plan, or if it has none: no expiry."}}, term.Options...)
	forms.Choose(term.Options, []string{termOfPlan})
	return nil
}

// confirmProduct asks whether to create a product that no license has yet, which
// may be a typo. It is not asked for the first license and for the product before.
func confirmProduct(v *kit.Visit, f *forms.Form, before string) error {
	x := f.Field("product_id")
	if x.Value == before || x.Value == "" {
		return nil
	}
	for _, p := range []api.ListLicensesParams{{ProductID: x.Value, Limit: 1}, {Limit: 1}} {
		known, err := v.Licenses.List(v.R.Context(), p)
		switch {
		case errors.Is(err, api.ErrInvalid): // the license service reports it
			return nil
		case err != nil:
			return err
		case p.ProductID != "" && len(known.Data) > 0, p.ProductID == "" && len(known.Data) == 0:
			return nil
		}
	}
	create := &forms.Field{Name: "new_product", Label: "New product", Type: "checkbox", Options: []forms.Option{
		{Value: x.Value, Label: "Create the product “" + x.Value + "”", Chosen: v.Sent("new_product") == x.Value},
	}}
	f.Insert(slices.Index(f.Fields, x)+1, create)
	if !create.Options[0].Chosen {
		f.AddError("new_product", "No license has this product yet. Correct its ID, or select this to create it.")
	}
	return nil
}

func newLicenseForm(v *kit.Visit) (*forms.FormPage, error) {
	ctx, q := v.R.Context(), v.R.URL.Query()
	l := api.License{ProductID: q.Get("product"), CustomerID: q.Get("customer")}
	p := forms.NewFormPage("licenses", kit.Lists["licenses"], "New license")
	p.Form, p.Action, p.Done = createForm(l, v.Zone()), "Create license", "The license has been created."
	if err := addPlans(v, p.Form); err != nil {
		return nil, err
	}
	if v.IsRead() {
		p.Form.Once = kit.NewMark()
	}
	p.Do = func(*kit.Visit) (string, error) { // in parts, because the hook of the host runs outside of the Update
		params := createParams(p.Form, v.Opts.Now())
		if err := cmp.Or(confirmProduct(v, p.Form, ""), forms.Check(v, p.Form, &params)); err != nil {
			return "", err
		}
		if n, given := p.Form.Read("count").(int64); given && n != 1 {
			return createBatch(v, p, params, n)
		}
		prepare, create := inner.Of(v.Licenses).CreateInParts(ctx, params)
		ref, repeated, err := inner.Of(v.Licenses).OncePrepared(ctx, p.Form.Mark(), "", prepare, func(in *license.Service) ([]byte, error) {
			l, err := create(in)
			return []byte(l.ID), err
		})
		if errors.Is(err, api.ErrKeyTaken) {
			err = api.Invalid("key", "taken", "is the key of another license")
		}
		if repeated {
			p.Done = kit.NoticeRepeated
		}
		return kit.LicensePath(string(ref)), err
	}
	return p, nil
}

func editLicenseForm(v *kit.Visit, l api.License) (*forms.FormPage, error) {
	p := licenseFormPage(l, "Edit license")
	p.Form, p.Action, p.Done = licenseForm(l, v.Zone()), kit.SaveChanges, kit.NoticeSaved
	p.Version = l.Version().String()
	p.Do = func(tx *kit.Visit) (string, error) {
		params := updateParams(p.Form, l, v.Zone())
		if err := cmp.Or(confirmProduct(tx, p.Form, l.ProductID), forms.Check(v, p.Form, &params)); err != nil {
			return "", err
		}
		after, err := tx.Licenses.Update(tx.R.Context(), params)
		if after.Revision == l.Revision {
			p.Done = kit.NoticeUnchanged
		}
		return "", err
	}
	return p, nil
}
