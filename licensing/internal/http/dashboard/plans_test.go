package dashboard_test

import (
	"net/http"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// plan creates a plan of the product atlas.
func (s *site) plan(p api.PutPlanParams) api.Plan {
	s.t.Helper()
	if p.ProductID == "" {
		p.ProductID = "atlas"
	}
	t, err := s.Selling().PutPlan(s.t.Context(), p)
	is.New(s.t).NoErr(err)
	return t
}

func TestPlans(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	v := s.admin()
	a := v.post("plans/new", "id", "a b", "duration", "soon", "max_activations", "many", "offline_seconds", "x")
	is.Equal(a.StatusCode, http.StatusUnprocessableEntity)
	for _, name := range []string{"id", "product_id", "duration", "max_activations", "offline_seconds"} {
		require.Contains(t, a.body, `id="f-`+name+`-error"`)
	}
	a = v.post("plans/new", "id", "price_1", "name", "Atlas yearly", "product_id", "atlas", "duration", "1", "duration_unit", "y",
		"until_ends", "updates", "starts", "activation", "grace_seconds", "14", "grace_seconds_unit", "d", "max_activations", "3", "lease_seconds", "1d 12h", "offline_seconds", "7", "offline_seconds_unit", "d",
		"entitlements_name", "export", "entitlements_value", "", "once", v.get("plans/new").hidden("once"))
	is.Equal(a.to(), "../plan/price_1")
	plan, err := s.Selling().GetPlan(t.Context(), "price_1")
	is.NoErr(err)
	is.Equal(plan.Duration, api.Duration{Years: 1})
	is.Equal(plan.UntilEnds, api.UntilEndsUpdates)
	is.Equal(plan.Starts, api.StartsActivation)
	is.Equal([]int64{plan.GraceSeconds, *plan.MaxActivations, *plan.LeaseSeconds, *plan.OfflineSeconds}, []int64{14 * 86400, 3, 36 * 3600, 7 * 86400})
	is.Equal(plan.Entitlements, map[string]any{"export": true})
	is.Equal(v.post("plans/new", "id", "price_1", "product_id", "atlas", "once", v.get("plans/new").hidden("once")).StatusCode, http.StatusUnprocessableEntity)

	for range 2 {
		l, err := s.Service().Create(t.Context(), api.CreateLicenseParams{Name: "Ada", CustomerID: "cus_ada", PlanID: "price_1"})
		is.NoErr(err)
		require.Contains(t, v.get("licenses/"+l.ID).body, "With the first activation")
	}
	s.plan(api.PutPlanParams{ID: "price_12"})
	_, err = s.Service().Create(t.Context(), api.CreateLicenseParams{Name: "Bob", CustomerID: "cus_bob", PlanID: "price_12"})
	is.NoErr(err)
	require.Contains(t, v.get("plan/price_1?count=1").body, `<span data-later="price_1">2</span>`)
	page := v.get("plan/price_1").body
	for _, text := range []string{`<a data-later="price_1" href="?count=1">`, "1 year of updates from the first activation", "14 days", "7 days", "export"} {
		require.Contains(t, page, text)
	}
	require.Contains(t, v.get("plan/price_1/delete?count=1").body, `Licenses with this plan: <span data-later="price_1">2</span>`)
	require.Contains(t, v.get("plan/price_1/delete").body, `<a data-later="price_1" href="?count=1">`)
	require.Contains(t, v.get("plans").body, "Atlas yearly", `<a data-later="price_1" href="?count=1">`, `<a data-later="price_12" href="?count=1">`)
	require.Contains(t, v.get("plans?count=1").body, `<span data-later="price_1">2</span>`, `<span data-later="price_12">1</span>`)
	require.Contains(t, v.get("audit").body, `plan/price_1">Atlas yearly</a>`)

	// Nothing changes when nothing was edited, and the plan of another operator is kept.
	form := v.get("plan/price_1/edit")
	sent := []string{"name", "Atlas yearly", "product_id", "atlas", "duration", "1", "duration_unit", "y", "until_ends", "updates", "starts", "activation", "grace_seconds", "14", "grace_seconds_unit", "d", "max_activations", "3",
		"lease_seconds", "36", "lease_seconds_unit", "h", "offline_seconds", "7", "offline_seconds_unit", "d", "entitlements_name", "export", "entitlements_value", "", "version", form.hidden("version")}
	is.Equal(v.follow(v.post("plan/price_1/edit", sent...)).notice(), "Nothing was changed.")
	sent[1] = "Atlas for a year"
	is.Equal(v.follow(v.post("plan/price_1/edit", sent...)).notice(), "Your changes have been saved. Licenses that have the plan keep their terms until you apply it to them, under More.")
	s.plan(api.PutPlanParams{ID: "price_1", Name: "Atlas, a year"})
	is.Equal(v.post("plan/price_1/edit", sent...).StatusCode, http.StatusConflict)
	is.Equal(v.post("plan/price_1/delete", "version", form.hidden("version")).StatusCode, http.StatusConflict)
	is.Equal(v.follow(v.change("plan/price_1/delete")).notice(), "The plan has been deleted.")
	is.Equal(v.get("plan/price_1").StatusCode, http.StatusNotFound)
}

// The form for a new license takes from the plan what is left blank, and nothing else.
func TestNewLicenseFromPlan(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	v := s.admin()
	require.NotContains(t, v.get("licenses/new").body, "From plan")
	s.plan(api.PutPlanParams{
		ID: "price_1", Duration: api.Duration{Days: 14},
		Terms: api.Terms{GraceSeconds: 86400, MaxActivations: ptr[int64](3), LeaseSeconds: ptr[int64](900), OfflineSeconds: ptr[int64](3600), Entitlements: map[string]any{"export": true}},
	})
	form := v.get("licenses/new?plan=price_1").body
	require.Contains(t, form, `value="price_1"`)
	create := func(fields ...string) api.License {
		t.Helper()
		fields = append(fields, "name", "Ada", "customer_id", "cus_ada", "plan_id", "price_1", "once", v.get("licenses/new").hidden("once"))
		is.Equal(v.post("licenses/new", fields...).StatusCode, http.StatusSeeOther)
		page, err := s.Service().List(t.Context(), api.ListLicensesParams{NewestFirst: true, Limit: 1})
		is.NoErr(err)
		return page.Data[0]
	}
	l := create("term", "plan")
	is.Equal(l.PlanID, "price_1")
	is.Equal(l.ProductID, "atlas")
	is.Equal(*l.ExpiresAt, s.clock().AddDate(0, 0, 14))
	is.Equal([]int64{l.GraceSeconds, *l.MaxActivations, *l.LeaseSeconds, *l.OfflineSeconds}, []int64{86400, 3, 900, 3600})
	is.Equal(l.Entitlements, map[string]any{"export": true})

	s.advance(1e9)
	l = create("term", "never", "grace_seconds", "0", "max_activations", "5", "entitlements_name", "projects", "entitlements_value", "9")
	is.Equal(l.ExpiresAt, nil)
	is.Equal([]int64{l.GraceSeconds, *l.MaxActivations}, []int64{0, 5})
	is.Equal(l.Entitlements, map[string]any{"projects": 9.0})
	a := v.post("licenses/new", "name", "Ada", "customer_id", "cus_ada", "plan_id", "price_2", "term", "plan", "once", v.get("licenses/new").hidden("once"))
	require.Contains(t, a.body, `id="f-plan_id-error"`)
}

// The form says what a plan replaces, and replaces that.
func TestApplyPlanForm(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	v := s.admin()
	s.plan(api.PutPlanParams{ID: "price_1", Terms: api.Terms{GraceSeconds: 86400, MaxActivations: ptr[int64](3)}})
	s.plan(api.PutPlanParams{ID: "foreign", ProductID: "other"})
	end := s.clock().AddDate(1, 0, 0)
	l := s.license(api.CreateLicenseParams{Name: "Ada", ProductID: "atlas", ExpiresAt: &end, Terms: api.Terms{Entitlements: map[string]any{"export": true}}})
	form := "licenses/" + l.ID + "/plan"
	require.Contains(t, v.get("licenses/"+l.ID).body, form)
	require.Contains(t, v.get(form).body, "This replaces the grace period", "The key, dates, updates, customer and metadata stay", `<option value="price_1">`)
	require.NotContains(t, v.get(form).body, "foreign")
	for _, wrong := range []string{"", "nothing", "foreign"} {
		require.Contains(t, v.change(form, "plan_id", wrong).body, `id="f-plan_id-error"`)
	}
	seen := v.get(form).hidden("version")
	is.Equal(v.follow(v.change(form, "plan_id", "price_1", "reason", "Upgrade")).notice(), "The license has the terms of the plan.")
	after, err := s.Service().Get(t.Context(), l.ID)
	is.NoErr(err)
	is.Equal([]any{after.PlanID, after.GraceSeconds, *after.MaxActivations, len(after.Entitlements), *after.ExpiresAt, after.Key}, []any{"price_1", int64(86400), int64(3), 0, end, l.Key})
	is.Equal(v.follow(v.change(form, "plan_id", "price_1")).notice(), "Nothing was changed.")
	is.Equal(v.post(form, "plan_id", "price_1", "version", seen).StatusCode, http.StatusConflict)
}

// TestAddOnsAreNotOffered where a license gets the terms of a plan, which must be a base.
func TestAddOnsAreNotOffered(t *testing.T) {
	s := newSite(t)
	v := s.admin()
	s.plan(api.PutPlanParams{ID: "pro"})
	s.plan(api.PutPlanParams{ID: "extra", Kind: api.PlanAddOn})
	l := s.license(api.CreateLicenseParams{Name: "Team"})
	for _, page := range []string{"licenses/new", "licenses/" + l.ID + "/plan"} {
		form := v.get(page).body
		require.Contains(t, form, `<option value="pro"`)
		require.NotContains(t, form, `<option value="extra"`)
	}
	require.Contains(t, v.get("licenses").body, `<option value="extra"`) // a filter
	require.Contains(t, v.get("plan/pro").body, "licenses/new?plan=pro")
	require.NotContains(t, v.get("plan/extra").body, "licenses/new")
}
