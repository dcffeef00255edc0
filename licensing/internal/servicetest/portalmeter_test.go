package servicetest

import (
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// TestCustomersSeeTheirUsage: the page of a license has a bar for each meter with a limit.
func TestCustomersSeeTheirUsage(t *testing.T) {
	is := is.New(t)
	host := newPortalHost(t, licensing.Options{}, licensing.Portal{})
	l, err := host.Handler.Service().Create(t.Context(), api.CreateLicenseParams{Name: "Atlas", ProductID: "atlas", CustomerID: "cus_ada", Terms: api.Terms{
		Meters: map[string]api.Meter{"exports": {Limit: new(int64(40)), Per: api.PerYear}, "calls": {}},
	}})
	is.NoErr(err)
	_, err = host.Handler.Metering().CountUsage(t.Context(), api.CountUsageParams{Key: l.Key, Usage: []api.UsageReport{
		{Meter: "exports", ID: "a", Total: 10}, {Meter: "calls", ID: "a", Total: 7},
	}})
	is.NoErr(err)
	next := time.Date(host.Clock.Now().Year()+1, 1, 1, 0, 0, 0, 0, time.UTC)
	require.Contains(t, host.visit("GET", l.ID, nil).Body.String(),
		"exports</span>: 10 of 40 used", "Starts again on "+next.Format("2 January 2006"), `<progress max="100" value="25" aria-label="exports">`, "calls</span>: 7 used")
}
