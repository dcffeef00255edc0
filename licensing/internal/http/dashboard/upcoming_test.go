package dashboard_test

import (
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// TestUpcomingChanges: the page of a license says which of its purchases count until when,
// and what comes.
func TestUpcomingChanges(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	v := s.admin()
	s.plan(api.PutPlanParams{ID: "year", Duration: api.Duration{Years: 1}, Terms: api.Terms{MaxActivations: ptr[int64](5)}})
	s.plan(api.PutPlanParams{ID: "extra", Kind: api.PlanAddOn, Duration: api.Duration{Days: 10}, Terms: api.Terms{
		MaxActivations: ptr[int64](2), Entitlements: map[string]any{"sso": true, "projects": 4, "<b>": true}, Meters: map[string]api.Meter{"exports": {Limit: ptr[int64](500)}},
	}})
	tell := func(p api.RecordPurchaseParams) api.Purchase {
		t.Helper()
		p.At, p.CustomerID, p.State = s.clock(), "cus_ada", api.PurchaseActive
		f, err := s.Selling().RecordPurchase(t.Context(), p)
		is.NoErr(err)
		return f
	}
	id := tell(api.RecordPurchaseParams{Reference: "shop:1", PlanID: "year"}).LicenseID
	tell(api.RecordPurchaseParams{Reference: "shop:2", PlanID: "extra", Quantity: ptr[int64](3), LicenseID: id})
	tell(api.RecordPurchaseParams{Reference: "shop:3", PlanID: "year", LicenseID: id})
	end := s.clock().AddDate(0, 0, 10).Format("2 January 2006")
	page := v.get("licenses/" + id).body
	for _, text := range []string{
		"extra × 3 · counts until " + end, "year · counts from " + s.clock().AddDate(1, 0, 0).Format("2 January 2006"),
		"A license: 5 activations<", "An extra: 6 more activations, &lt;b&gt;, projects: 12 more, sso, exports: 1,500 more<",
		"Upcoming changes", "Maximum activations: 5, without &lt;b&gt;, without projects, without sso, without exports",
	} {
		require.Contains(t, page, text)
	}
	s.advance(time.Hour)
	_, err := s.Selling().RecordPurchase(t.Context(), api.RecordPurchaseParams{Reference: "shop:2", At: s.clock(), State: api.PurchaseRefunded})
	is.NoErr(err)
	page = v.get("licenses/" + id).body
	require.NotContains(t, page, "without sso")
	require.Contains(t, page, `<span class="pill expired">refunded</span> <span class="sub">extra × 3 · ended on `+s.clock().Format("2 January 2006"))
}

// TestUpcomingMeters: a limit that an add-on raises is shown as it will be, and what each
// purchase adds, also if that is one.
func TestUpcomingMeters(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	exports := func(n int64) api.Terms {
		return api.Terms{MaxActivations: ptr[int64](1), Meters: map[string]api.Meter{"exports": {Limit: &n, Per: api.PerMonth}}}
	}
	s.plan(api.PutPlanParams{ID: "year", Duration: api.Duration{Years: 1}, Terms: exports(100)})
	s.plan(api.PutPlanParams{ID: "extra", Kind: api.PlanAddOn, Duration: api.Duration{Days: 10}, Terms: exports(500)})
	id := ""
	for _, plan := range []string{"year", "extra"} {
		f, err := s.Selling().RecordPurchase(t.Context(), api.RecordPurchaseParams{
			Reference: "shop:" + plan, At: s.clock(), CustomerID: "cus_ada", PlanID: plan, State: api.PurchaseActive, LicenseID: id,
		})
		is.NoErr(err)
		id = f.LicenseID
	}
	page := s.admin().get("licenses/" + id).body
	require.Contains(t, page, "Upcoming changes", "exports: 100 per month<", "A license: 1 activation, exports: 100<", "An extra: 1 more activation, exports: 500 more<")
}
