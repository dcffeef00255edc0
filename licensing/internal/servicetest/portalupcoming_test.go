package servicetest

import (
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// TestPortalSaysUntilWhenAnAddOnAdds: a customer reads how many devices more there are
// until when.
func TestPortalSaysUntilWhenAnAddOnAdds(t *testing.T) {
	is := is.New(t)
	host := newPortalHost(t, licensing.Options{}, licensing.Portal{})
	l, _ := host.license("cus_ada", "Workshop")
	require.NotContains(t, host.visit("GET", l.ID, nil).Body.String(), "more until")
	sell := host.Handler.Selling()
	_, err := sell.PutPlan(t.Context(), api.PutPlanParams{ID: "extra", ProductID: "atlas", Kind: api.PlanAddOn, Duration: api.Duration{Days: 10}, Terms: api.Terms{MaxActivations: new(int64(3))}})
	is.NoErr(err)
	_, err = sell.PutPlan(t.Context(), api.PutPlanParams{ID: "year", ProductID: "atlas", Duration: api.Duration{Years: 1}, Terms: api.Terms{MaxActivations: new(int64(2))}})
	is.NoErr(err)
	for reference, plan := range map[string]string{"shop:1": "year", "shop:2": "extra"} {
		_, err = sell.RecordPurchase(t.Context(), api.RecordPurchaseParams{Reference: reference, CustomerID: "cus_ada", PlanID: plan, State: api.PurchaseActive, LicenseID: l.ID})
		is.NoErr(err)
	}
	page := host.visit("GET", l.ID, nil).Body.String()
	require.Contains(t, page, "1 of 5 in use; 3 more until "+host.Clock.Now().AddDate(0, 0, 10).Format("2 January 2006"))
	host.Clock.Advance(11 * 24 * time.Hour)
	require.Contains(t, host.visit("GET", l.ID, nil).Body.String(), "1 of 2 in use<")
}
