package license_test

import (
	"errors"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/selling"
)

// refusedField returns the field of the first error of an [*api.InvalidError]; empty: it
// is none.
func refusedField(err error) string {
	if invalid, ok := errors.AsType[*api.InvalidError](err); ok {
		return invalid.Fields[0].Field
	}
	return ""
}

// TestPlanKind: the kind and the line of a plan are stored, the kind of a plan that was
// bought stays, and an add-on makes no license.
func TestPlanKind(t *testing.T) {
	is := is.New(t)
	s := newTwice(t)
	ctx := t.Context()
	sell := selling.New(s.Service)
	put := func(p api.PutPlanParams) error {
		p.ProductID = "prod_editor"
		_, err := sell.PutPlan(ctx, p)
		return err
	}
	is.NoErr(put(api.PutPlanParams{ID: "sso", Kind: api.PlanAddOn, Line: "extras", Duration: api.Duration{Days: 30}}))
	plan, err := sell.GetPlan(ctx, "sso")
	is.NoErr(err)
	is.Equal([]string{string(plan.Kind), plan.Line}, []string{"addon", "extras"})
	plan, err = sell.GetPlan(ctx, "basic")
	is.NoErr(err)
	is.Equal([]string{string(plan.Kind), plan.Line}, []string{"base", ""})

	for field, p := range map[string]api.PutPlanParams{
		"kind":            {ID: "a", Kind: "extra"},
		"line":            {ID: "a", Line: "a b"},
		"until_ends":      {ID: "a", Kind: api.PlanAddOn, UntilEnds: api.UntilEndsUpdates},
		"lease_seconds":   {ID: "a", Kind: api.PlanAddOn, Terms: api.Terms{LeaseSeconds: ptr[int64](600)}},
		"offline_seconds": {ID: "a", Kind: api.PlanAddOn, Terms: api.Terms{OfflineSeconds: ptr[int64](600)}},
	} {
		is.Equal(refusedField(put(p)), field)
	}

	id := s.tell(t, "shop:1", paid()).LicenseID
	is.Equal(refusedField(put(api.PutPlanParams{ID: "basic", Kind: api.PlanAddOn})), "kind") // a purchase has it
	s.tell(t, "shop:1", event{At: onDay(1), PlanID: "pro"})
	is.NoErr(put(api.PutPlanParams{ID: "basic", Kind: api.PlanAddOn})) // none does any more

	p := plain()
	p.PlanID = "sso"
	_, err = s.Create(ctx, p)
	is.Equal(refusedField(err), "plan_id")
	_, err = sell.ApplyPlan(ctx, api.ApplyPlanParams{ID: id, PlanID: "sso"})
	is.Equal(refusedField(err), "plan_id")
	_, err = sell.StartTrial(ctx, api.StartTrialParams{PlanID: "sso", CustomerID: "cus_bob"})
	is.Equal(refusedField(err), "plan_id")
}
