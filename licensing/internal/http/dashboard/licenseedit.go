package dashboard

import (
	"cmp"
	"errors"
	"slices"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/licensing/selling"
)

// offeredNames is the maximum number of known products and customers that a form
// offers.
const offeredNames = 100

// offerNames makes a form offer the known products and customers, in the fields that
// it has for them.
func (v *visit) offerNames(f *form) error {
	for name, list := range map[string]directory{"product_id": products, "customer_id": customers} {
		x := f.Field(name)
		if x == nil {
			continue
		}
		known, err := list.list(v.licenses, v.r.Context(), api.NamesParams{Limit: offeredNames})
		if err != nil {
			return err
		}
		x.Known = each(known.Data, func(n api.NameCount) string { return n.Name })
	}
	return nil
}

// offeredPlans is the maximum number of plans that a form offers in a list.
const offeredPlans = 50

// offeredPlans returns the plans of a product, "" for all, as options, or none if there are
// more than a list offers. One that has been deleted is offered if it is the chosen one.
func (v *visit) offeredPlans(product, chosen string) (list []option, more bool, err error) {
	plans, err := selling.New(v.licenses).ListPlans(v.r.Context(), api.ListPlansParams{ProductID: product, Limit: offeredPlans})
	if err != nil || plans.HasMore {
		return nil, plans.HasMore, err
	}
	for _, t := range plans.Data {
		o := option{Value: t.ID, Label: t.Name, Chosen: t.ID == chosen, AddOn: t.Kind == api.PlanAddOn}
		if t.Name != t.ID {
			o.Label += " (" + t.ID + ")"
		}
		list = append(list, o)
		if o.Chosen {
			chosen = ""
		}
	}
	if chosen != "" {
		list = append(list, option{Value: chosen, Label: chosen, Chosen: true})
	}
	return list, false, nil
}

// bases returns the offered plans without add-ons, which a purchase adds to a license.
func bases(list []option) []option {
	return slices.DeleteFunc(list, func(o option) bool { return o.AddOn })
}

// addPlans adds the choice of a plan to the form for a new license, if there are
// plans. What is left blank is then what the plan has.
func (v *visit) addPlans(f *form) error {
	plan := &field{Name: "plan_id", Label: "From plan", Hint: "The plan fills in what you leave blank.", Type: "text", Value: v.r.URL.Query().Get("plan"), MaxLength: 255}
	plans, more, err := v.offeredPlans("", plan.Value)
	if plans = bases(plans); err != nil || len(plans) == 0 && !more {
		return err
	}
	if plan.Select = append([]option{{Label: "None"}}, plans...); more {
		plan.Select, plan.Hint = nil, "A plan ID. The plan fills in what you leave blank."
	}
	f.insert(1, plan)
	f.Field("product_id").Hint = "Your ID for the product. Leave blank for that of the plan."
	f.Field("product_id").Required = false
	f.Field("max_activations").Hint = "Leave blank for that of the plan, or for unlimited without a plan."
	if x := f.Field("grace_seconds"); x.Value == "0" {
		x.Value, x.Hint = "", "How long the license stays valid after it expires. Leave blank for that of the plan. Enter 0 for none."
	}
	f.Field("lease_seconds").Hint += " A plan fills it in."
	term := f.Field("term")
	term.Options = append([]option{{Value: termOfPlan, Label: "Duration of the plan", Hint: "Without a plan, or if it has none: no expiry."}}, term.Options...)
	choose(term.Options, []string{termOfPlan})
	return nil
}

// confirmProduct asks whether to create a product that no license has yet, which
// may be a typo. It is not asked for the first license and for the product before.
func (v *visit) confirmProduct(f *form, before string) error {
	x := f.Field("product_id")
	if x.Value == before || x.Value == "" {
		return nil
	}
	for _, p := range []api.ListLicensesParams{{ProductID: x.Value, Limit: 1}, {Limit: 1}} {
		known, err := v.licenses.List(v.r.Context(), p)
		switch {
		case errors.Is(err, api.ErrInvalid): // the license service reports it
			return nil
		case err != nil:
			return err
		case p.ProductID != "" && len(known.Data) > 0, p.ProductID == "" && len(known.Data) == 0:
			return nil
		}
	}
	create := &field{Name: "new_product", Label: "New product", Type: "checkbox", Options: []option{
		{Value: x.Value, Label: "Create the product “" + x.Value + "”", Chosen: v.sent("new_product") == x.Value},
	}}
	f.insert(slices.Index(f.Fields, x)+1, create)
	if !create.Options[0].Chosen {
		f.addError("new_product", "No license has this product yet. Correct its ID, or select this to create it.")
	}
	return nil
}

func newLicenseForm(v *visit) (*formPage, error) {
	ctx, q := v.r.Context(), v.r.URL.Query()
	l := api.License{ProductID: q.Get("product"), CustomerID: q.Get("customer")}
	p := newFormPage("licenses", lists["licenses"], "New license")
	p.Form, p.Action, p.done = createForm(l), "Create license", "The license has been created."
	if err := v.addPlans(p.Form); err != nil {
		return nil, err
	}
	if v.isRead() {
		p.Form.Once = newMark()
	}
	p.do = func(*visit) (string, error) { // in parts, because the hook of the host runs outside of the Update
		params := p.Form.createParams(v.h.opts.Now())
		if err := cmp.Or(v.confirmProduct(p.Form, ""), v.check(p.Form, &params)); err != nil {
			return "", err
		}
		prepare, create := inner.Of(v.licenses).CreateInParts(ctx, params)
		ref, repeated, err := inner.Of(v.licenses).OncePrepared(ctx, p.Form.mark(), "", prepare, func(in *license.Service) ([]byte, error) {
			l, err := create(in)
			return []byte(l.ID), err
		})
		if errors.Is(err, api.ErrKeyTaken) {
			err = api.Invalid("key", "taken", "is the key of another license")
		}
		if repeated {
			p.done = noticeRepeated
		}
		return licensePath(string(ref)), err
	}
	return p, nil
}

func editLicenseForm(v *visit, l api.License) (*formPage, error) {
	p := licenseFormPage(l, "Edit license")
	p.Form, p.Action, p.done = licenseForm(l), saveChanges, noticeSaved
	p.Version = l.Version().String()
	p.do = func(tx *visit) (string, error) {
		params := p.Form.updateParams(l)
		if err := cmp.Or(tx.confirmProduct(p.Form, l.ProductID), v.check(p.Form, &params)); err != nil {
			return "", err
		}
		after, err := tx.licenses.Update(tx.r.Context(), params)
		if after.Revision == l.Revision {
			p.done = noticeUnchanged
		}
		return "", err
	}
	return p, nil
}
