package dashboard_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth/operator"
	"github.com/seed-d8a106b4/licensekit/internal/require"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

// An operator finds out why a purchase ended, and reopens it.
func TestPurchase(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	v := s.admin()
	s.plan(license.PutPlanParams{ID: "price_1", Name: "Atlas yearly", Duration: license.Duration{Years: 1}})
	tell := func(p license.FulfillParams) license.Fulfillment {
		t.Helper()
		p.At = s.clock()
		f, err := s.Service().Fulfill(t.Context(), p)
		is.NoErr(err)
		return f
	}
	order := "2026-7"
	bought := tell(license.FulfillParams{Reference: "shop:1", CustomerID: "cus_ada", PlanID: "price_1", State: license.PurchaseActive, Metadata: map[string]*string{"order": &order}})
	waiting := tell(license.FulfillParams{Reference: "shop:2", CustomerID: "cus_bob", PlanID: "price_2", State: license.PurchaseActive})
	is.Equal(waiting.Waiting, license.WaitingUnknownPlan)
	s.advance(time.Hour)
	tell(license.FulfillParams{Reference: "shop:1", State: license.PurchaseEnded})
	s.advance(time.Hour)

	page := v.get("licenses/" + bought.License.ID).body
	for _, text := range []string{`plan/price_1">Atlas yearly</a>`, `purchase/shop:1">shop:1</a> <span class="pill expired">ended</span>`} {
		require.Contains(t, page, text)
	}
	list := v.get("purchases").body
	require.Contains(t, list, "shop:2")
	require.Contains(t, list, "There is no plan with its plan ID")
	require.NotContains(t, list, "shop:1")
	require.Contains(t, v.get("").body, "1 purchase</a> without a license")
	require.Contains(t, v.get("purchases?reference=shop:3").body, "No purchase has this reference.")
	is.Equal(v.get("purchases?reference=shop:1").to(), "./purchase/shop:1")

	page = v.get("purchase/shop:1").body
	for _, text := range []string{"Metadata order", "2026-7", "1 Mar 2026, 12:00:00 UTC", "<dt>Ended</dt>", "1 Mar 2026, 13:00:00 UTC", licenseLink(bought.License.ID)} {
		require.Contains(t, page, text)
	}
	s.operator("sue@example.com", operator.RoleSupport)
	require.NotContains(t, s.signedIn("sue@example.com").get("purchase/shop:1").body, "/reopen")

	require.Contains(t, v.post("purchase/shop:1/reopen", "at", "soon").body, `id="f-at-error"`)
	require.Contains(t, v.post("purchase/shop:1/reopen", "at", "2026-03-01T12:00:00").body, `id="f-at-error"`) // before the end
	is.Equal(v.follow(v.post("purchase/shop:1/reopen", "reason", "Paid by wire")).notice(), "The purchase has been reopened.")
	is.Equal(v.post("purchase/shop:1/reopen").StatusCode, http.StatusUnprocessableEntity) // it has not ended
	l, err := s.Service().Get(t.Context(), bought.License.ID)
	is.NoErr(err)
	is.Equal(l.Status, license.StatusActive)
	is.Equal(*l.ExpiresAt, s.clock().Add(-2*time.Hour).AddDate(1, 0, 0))
	is.Equal(v.get("purchase/shop:1/allow-trial").StatusCode, http.StatusNotFound)
}

func licenseLink(id string) string { return `licenses/` + id + `"` }

func TestAllowAnotherTrial(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	v := s.admin()
	s.plan(license.PutPlanParams{ID: "try", Duration: license.Duration{Days: 14}})
	start := license.StartTrialParams{PlanID: "try", CustomerID: "cus_ada", Subjects: []string{"device:1"}}
	trial, err := s.Service().StartTrial(t.Context(), start)
	is.NoErr(err)
	path := "purchase/trial:" + trial.License.ID
	require.Contains(t, v.get("licenses/"+trial.License.ID).body, path)
	require.Contains(t, v.get(path).body, path+"/allow-trial")
	is.Equal(v.follow(v.post(path+"/allow-trial", "reason", "New laptop")).notice(), "Another trial is allowed.")
	is.Equal(v.post(path+"/allow-trial").StatusCode, http.StatusConflict)
	require.Contains(t, v.get("audit").body, "New laptop")
	trial, err = s.Service().StartTrial(t.Context(), start)
	is.NoErr(err)
	is.True(trial.Started)
}
