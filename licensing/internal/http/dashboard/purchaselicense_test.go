package dashboard_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth/operator"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// TestNameWhatPurchaseMisses: an admin names the customer, the plan or the license of a
// purchase that is paid for, and it gets its license or becomes a part of one.
func TestNameWhatPurchaseMisses(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	v := s.admin()
	s.plan(api.PutPlanParams{ID: "year", Name: "Atlas yearly", Duration: api.Duration{Years: 1}, Terms: api.Terms{MaxActivations: ptr[int64](2)}})
	s.plan(api.PutPlanParams{ID: "extra", Kind: api.PlanAddOn, Terms: api.Terms{MaxActivations: ptr[int64](5)}})
	paidAt := s.clock()
	for _, p := range []api.RecordPurchaseParams{
		{Reference: "shop:1", PlanID: "year", Name: "Bob & Sons"},
		{Reference: "shop:2", CustomerID: "cus_ada"},
		{Reference: "shop:3", PlanID: "extra"},
	} {
		p.At, p.State = paidAt, api.PurchaseActive
		_, err := s.Selling().RecordPurchase(t.Context(), p)
		is.NoErr(err)
	}
	s.advance(time.Hour)
	get := func(reference string) api.Purchase {
		f, err := s.Selling().GetPurchase(t.Context(), reference)
		is.NoErr(err)
		return f
	}
	require.Contains(t, v.get("purchases").body, `<span class="any">Bob &amp; Sons</span>`) // the customer without an ID
	s.operator("sue@example.com", operator.RoleSupport)
	sue := s.signedIn("sue@example.com")
	page := sue.get("purchase/shop:1").body
	require.Contains(t, page, ">Ask an admin</a> to name its customer.")
	require.NotContains(t, page, "Name the customer")
	is.Equal(sue.post("purchase/shop:1/license", "customer_id", "cus_bob").StatusCode, http.StatusForbidden)

	require.Contains(t, v.get("purchase/shop:1").body, `purchase/shop:1/license">Name the customer</a>`)
	require.Contains(t, v.get("purchase/shop:1/license").body, "No event has named the customer of this purchase.")
	is.Equal(v.post("purchase/shop:1/license", "customer_id", "").StatusCode, http.StatusUnprocessableEntity)
	is.Equal(v.follow(v.post("purchase/shop:1/license", "customer_id", "cus_bob")).notice(), "The license has been created.")
	bob := get("shop:1").License
	is.Equal(bob.CustomerID, "cus_bob")
	is.Equal(*bob.ExpiresAt, paidAt.AddDate(1, 0, 0)) // since it was paid, not since it was named

	require.Contains(t, v.get("purchase/shop:2/license").body, `<option value="" selected>Choose a plan</option>`, `<option value="year">Atlas yearly (year)</option>`)
	is.Equal(v.follow(v.post("purchase/shop:2/license", "plan_id", "year")).notice(), "The license has been created.")
	ada := get("shop:2").License

	a := v.follow(v.post("purchase/shop:3/license", "customer_id", "cus_bob"))
	is.Equal(a.notice(), "Saved. The purchase is still waiting: It is an add-on, and no event has named its license.")
	require.Contains(t, a.body, `purchase/shop:3/license">Name the license</a>`)
	form := v.get("purchase/shop:3/license").body
	require.Contains(t, form, `<option value="" selected>Choose a license</option>`, `<option value="`+bob.ID+`">Bob &amp; Sons, active, Atlas yearly, until 1 March 2027</option>`)
	require.NotContains(t, form, ada.ID)
	is.Equal(v.post("purchase/shop:3/license", "license_id", "").StatusCode, http.StatusUnprocessableEntity)
	is.Equal(v.post("purchase/shop:3/license", "license_id", ada.ID).StatusCode, http.StatusConflict) // of another customer
	is.Equal(v.post("purchase/shop:3/license", "license_id", "bob").StatusCode, http.StatusUnprocessableEntity)
	is.Equal(v.follow(v.post("purchase/shop:3/license", "license_id", bob.ID)).notice(), "The purchase is a part of this license now.")
	is.Equal(*get("shop:3").License.MaxActivations, int64(7))
	require.NotContains(t, v.get("purchase/shop:3").body, "/fulfill")
}

// TestPurchaseThatIsOver: the pages say until when a purchase counts, and that a time has
// ended one that the shop still reports as active. A trial is not paid.
func TestPurchaseThatIsOver(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	v := s.admin()
	s.plan(api.PutPlanParams{ID: "month", Name: "Atlas monthly", Duration: api.Duration{Months: 1}})
	s.plan(api.PutPlanParams{ID: "try", Duration: api.Duration{Days: 14}})
	f, err := s.Selling().RecordPurchase(t.Context(), api.RecordPurchaseParams{Reference: "shop:1", At: s.clock(), CustomerID: "cus_ada", PlanID: "month", State: api.PurchaseActive})
	is.NoErr(err)
	trial, err := s.Selling().StartTrial(t.Context(), api.StartTrialParams{PlanID: "try", CustomerID: "cus_bob"})
	is.NoErr(err)
	end := f.License.ExpiresAt.Format("2 January 2006")
	pages := []string{"purchase/shop:1", "customer?id=cus_ada", "licenses/" + f.License.ID}
	for _, page := range pages {
		require.Contains(t, v.get(page).body, "counts until "+end, `<span class="pill active">active</span>`)
	}
	require.Contains(t, v.get(pages[0]).body, `plan/month">Atlas monthly</a>`)
	require.Contains(t, v.get(pages[1]).body, "Atlas monthly · counts", "Paid until")
	require.Contains(t, v.get(pages[2]).body, "Atlas monthly · counts", "Paid until · in ")
	require.Contains(t, v.get("licenses/"+trial.License.ID).body, "Trial until · in ")
	require.NotContains(t, v.get("customer?id=cus_bob").body, "Paid until")

	s.advance(60 * 24 * time.Hour)
	v = s.signedIn("ada@example.com")
	for _, page := range pages {
		body := v.get(page).body
		require.Contains(t, body, "ended on "+end, `<span class="pill expired">expired</span>`)
		require.NotContains(t, body, `<span class="pill active">active</span>`)
	}
	require.Contains(t, v.get(pages[0]).body, `<span class="any">active</span>`) // the stored state
}
