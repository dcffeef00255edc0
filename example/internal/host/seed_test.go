package host

import (
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// TestSeed shows that there is something of everything to look at.
func TestSeed(t *testing.T) {
	is := is.New(t)
	st := memory.New()
	is.NoErr(Seed(t.Context(), st))
	h := licensing.NewHandler(st, licensing.Options{})
	page, err := h.Service().List(t.Context(), license.ListParams{Limit: 200})
	is.NoErr(err)
	is.Equal(len(page.Data), seedCount)

	statuses, products, customers := map[license.Status]int{}, map[string]int{}, map[string]int{}
	var soon, endless int
	for _, l := range page.Data {
		statuses[l.Status]++
		products[l.ProductID]++
		customers[l.CustomerID]++
		switch {
		case l.ExpiresAt == nil:
			endless++
		case l.Status == license.StatusActive && time.Until(*l.ExpiresAt) < 200*day:
			soon++
		}
	}
	for _, s := range []license.Status{license.StatusActive, license.StatusScheduled, license.StatusExpired} {
		require.AtLeast(t, statuses[s], 2)
	}
	is.Equal(len(products), len(seedProducts))
	is.Equal(len(customers), len(seedCustomers))
	renewed, err := h.Service().Events(t.Context(), license.EventsParams{Type: license.EventLicenseRenewed})
	is.NoErr(err)
	is.Equal(len(renewed.Data), 2)
	codes := map[license.VerdictCode]bool{}
	for _, l := range page.Data {
		refusals, err := h.Service().Refusals(t.Context(), license.RefusalsParams{ID: l.ID})
		is.NoErr(err)
		for _, r := range refusals.Data {
			codes[r.Code] = true
		}
	}
	for _, code := range []license.VerdictCode{license.VerdictActivationLimit, license.VerdictExpired, license.VerdictSuspended, license.VerdictProductMismatch} {
		is.True(codes[code])
	}
	require.Greater(t, soon, 0)
	require.Greater(t, endless, 0)
}
