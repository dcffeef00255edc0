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
	h := licensing.NewHandler(memory.New(), licensing.Options{})
	is.NoErr(seed(t.Context(), h.Service()))
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
		require.AtLeast(t, statuses[s], 3)
	}
	is.Equal(len(products), len(seedProducts))
	is.Equal(len(customers), len(seedCustomers))
	require.Greater(t, soon, 0)
	require.Greater(t, endless, 0)
}
