package host

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/selling"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// TestSeed shows that there is something of everything to look at.
func TestSeed(t *testing.T) {
	is := is.New(t)
	st := memory.New()
	is.NoErr(Seed(t.Context(), st))
	h := licensing.NewHandler(st, licensing.Options{})
	page, err := h.Service().List(t.Context(), api.ListLicensesParams{Limit: 200})
	is.NoErr(err)
	is.Equal(len(page.Data), seedLicenses)

	statuses, products, customers := map[api.LicenseStatus]int{}, map[string]int{}, map[string]int{}
	var soon, endless int
	for _, l := range page.Data {
		statuses[l.Status]++
		products[l.ProductID]++
		customers[l.CustomerID]++
		switch {
		case l.ExpiresAt == nil:
			endless++
		case l.Status == api.LicenseActive && time.Until(*l.ExpiresAt) < 200*day:
			soon++
		}
	}
	for _, s := range []api.LicenseStatus{api.LicenseActive, api.LicenseScheduled, api.LicenseExpired} {
		require.AtLeast(t, statuses[s], 2)
	}
	is.Equal(len(products), len(seedProducts))
	is.Equal(len(customers), len(seedCustomers)+seedBuyers)
	renewed, err := h.Service().Events(t.Context(), api.ListEventsParams{Types: []string{api.EventLicenseRenewed}})
	is.NoErr(err)
	require.AtLeast(t, len(renewed.Data), 20)
	codes := map[api.VerdictCode]bool{}
	for _, l := range page.Data {
		refusals, err := h.Service().Refusals(t.Context(), api.ListRefusalsParams{ID: l.ID})
		is.NoErr(err)
		for _, r := range refusals.Data {
			codes[r.Code] = true
		}
	}
	for _, code := range []api.VerdictCode{api.VerdictActivationLimit, api.VerdictExpired, api.VerdictSuspended, api.VerdictProductMismatch} {
		is.True(codes[code])
	}
	require.Greater(t, soon, 0)
	require.Greater(t, endless, 0)
}

// TestSeedSales: there are three plans, thirty purchases, of which some wait, and six
// trials, and the events are in order of time.
func TestSeedSales(t *testing.T) {
	is := is.New(t)
	st := memory.New()
	is.NoErr(Seed(t.Context(), st))
	svc := licensing.NewHandler(st, licensing.Options{}).Service()
	plans, err := selling.New(svc).ListPlans(t.Context(), api.ListPlansParams{})
	is.NoErr(err)
	is.Equal(len(plans.Data), 3)
	states, results := map[any]int{}, map[api.PurchaseResult]int{}
	for i := range seedPurchases {
		f, err := selling.New(svc).GetPurchase(t.Context(), fmt.Sprintf("shop:%d", 2001+i))
		is.NoErr(err)
		results[f.Result]++
		if states[f.Fields["state"].Value]++; f.EndedAt != nil {
			states[api.PurchaseEnded]++
		}
	}
	is.Equal(results[api.PurchaseResultWaiting], seedUnsold)
	is.Equal([]int{states[api.PurchaseEnded], states[api.PurchasePaused], states[nil]}, []int{2, 1, 2})
	trials := 0
	var last time.Time
	for after := ""; ; {
		page, err := svc.Events(t.Context(), api.ListEventsParams{After: after})
		is.NoErr(err)
		for _, e := range page.Data {
			is.True(!e.Timestamp.Before(last))
			if last = e.Timestamp; e.Type == api.EventLicenseCreated && strings.Contains(string(e.Data), `"reference":"trial:`) {
				trials++
			}
		}
		if after = page.NextCursor; !page.HasMore {
			break
		}
	}
	is.Equal(trials, seedTrials)
}
