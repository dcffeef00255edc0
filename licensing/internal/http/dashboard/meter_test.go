package dashboard_test

import (
	"net/http"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// TestMetersOnPages: the forms of licenses and plans set meters, the page of a license has
// a bar for each, and a refusal says which meter has no units left.
func TestMetersOnPages(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	v := s.admin()
	l := s.license(api.CreateLicenseParams{Name: "Atlas"})
	path := "licenses/" + l.ID
	is.Equal(v.change(path+"/edit", "name", "Atlas", "product_id", l.ProductID, "customer_id", l.CustomerID, "meters_name", "exports", "meters_value", "1000 per month").StatusCode, http.StatusSeeOther)
	require.Contains(t, v.get(path+"/edit").body, `value="1000 per month"`)
	bad := v.change(path+"/edit", "name", "Atlas", "product_id", l.ProductID, "customer_id", l.CustomerID, "meters_name", "exports", "meters_value", "1000 a month")
	is.Equal(bad.StatusCode, http.StatusUnprocessableEntity)
	require.Contains(t, bad.body, `<a href="#f-meters">`)
	count := func(id string, total int64) error {
		_, err := s.Metering().CountUsage(t.Context(), api.CountUsageParams{Key: l.Key, Usage: []api.UsageReport{{Meter: "exports", ID: id, Total: total}}})
		return err
	}
	is.NoErr(count("a", 900))
	page := v.get(path).body
	require.Contains(t, page, ">exports</span>: 900 of 1,000 used", "Starts again", "Usage near the limit", "Usage limit exports: none → 1000 per month")
	require.NotContains(t, page, "No exports left")
	link := `licenses/` + l.ID + `">Atlas</a>` // the events about usage do not have the name
	require.Contains(t, v.get("audit?type=usage.*").body, link)
	require.Contains(t, v.get("customer?id="+l.CustomerID).body, "<strong>Usage near the limit</strong>: <a href=\"./"+link)
	is.True(count("b", 200) != nil)
	is.NoErr(count("c", 100))
	require.Contains(t, v.get(path).body, "No exports left", "A usage limit is reached.", "Raise the limit")
	require.Contains(t, v.get("refusals?reason=usage_limit").body, "No units left", "exports")
	is.Equal(v.change(path+"/edit", "name", "Atlas", "product_id", l.ProductID, "customer_id", l.CustomerID, "meters_name", "exports", "meters_value", "2000 per month").StatusCode, http.StatusSeeOther)
	require.Contains(t, v.get(path).body, "Resolved: units are left.")

	is.Equal(v.post("plans/new", "once", v.get("plans/new").hidden("once"), "id", "metered", "product_id", "atlas", "meters_name", "exports", "meters_value", "5 per day, soft").StatusCode, http.StatusSeeOther)
	require.Contains(t, v.get("plan/metered").body, "5 per day, soft")
}
