package dashboard_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// TestListConditions: the list filters by plan and by what no index knows, together with
// its other filters, and so do its pages and a change of all matches.
func TestListConditions(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	v := s.admin()
	_, err := s.Selling().PutPlan(t.Context(), api.PutPlanParams{ID: "price_1", Name: "Pro, yearly", ProductID: "atlas"})
	is.NoErr(err)
	ended := s.now.Add(-time.Hour)
	var bought api.License
	for i := range 70 {
		s.advance(time.Millisecond)
		bought = s.license(api.CreateLicenseParams{Name: fmt.Sprintf("Bought-%02d", i), PlanID: "price_1"})
	}
	full := s.license(api.CreateLicenseParams{Name: "Full", Terms: api.Terms{MaxActivations: ptr[int64](5)}})
	for _, pc := range []string{"pc-1", "pc-2", "pc-3", "pc-4"} {
		s.activate(full, pc, "")
	}
	s.license(api.CreateLicenseParams{Name: "Old", UpdatesUntil: &ended})

	a := v.get("licenses?only=near_limit")
	is.Equal(names(a), "")
	require.Contains(t, a.body, "Counted until ", "Later events are being counted.", "Licenses from before the first event are being counted.")
	s.run(t, func() bool { return !v.get("licenses?only=near_limit").says("are being counted") })
	a = v.get("licenses?only=near_limit&sort=oldest")
	is.Equal(names(a), "Full")
	require.Contains(t, a.body, "Counted until ")
	require.NotContains(t, a.body, "are being counted")
	is.Equal(names(v.get("licenses?only=updates_ended")), "Old")
	is.Equal(names(v.get("licenses?only=near_limit&plan=price_1")), "")
	is.Equal(names(v.get("licenses?only=near_limit&status=suspended")), "")
	is.Equal(v.get("licenses?only=mislaid").StatusCode, http.StatusBadRequest)

	first := v.get("licenses?plan=price_1&sort=oldest")
	is.Equal(strings.Count(first.body, ">Bought-"), 50)
	require.Contains(t, first.body, "50 matching licenses on this page", `<option value="price_1" selected>Pro, yearly (price_1)</option>`, `<option value="near_limit">Near the limit</option>`)
	require.NotContains(t, first.body, "Download CSV") // it would have others
	rest := v.link(first, "Next page")
	is.Equal(strings.Count(rest.body, ">Bought-"), 20)
	require.Contains(t, v.link(rest, "Suspend").body, "Suspend 70 licenses</button>", "all licenses with the plan “price_1”")
	is.Equal(v.get("licenses.csv?plan=price_1").StatusCode, http.StatusBadRequest)
	is.Equal(fields(v.link(first, "New license")).Get("plan_id"), "price_1")

	is.Equal(names(v.get("licenses?only=near_limit&product=atlas&q=full")), "Full")
	is.Equal(names(v.get("licenses?only=near_limit&product=atlas&q=old")), "")

	// The licenses whose key has the text are those of the filter, too.
	part := bought.Key[len(bought.Key)-8:]
	is.Equal(names(v.get("licenses?plan=price_1&q="+part)), bought.Name)
	is.Equal(names(v.get("licenses?only=near_limit&q="+part)), "")
	is.Equal(names(v.get("licenses?plan=price_2&q="+part)), "")
}
