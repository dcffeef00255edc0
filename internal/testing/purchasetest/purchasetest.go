// Package purchasetest has sales of licenses with several purchases, and what each license is
// then. It is for tests only.
package purchasetest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/licensing/selling"
	"github.com/seed-d8a106b4/licensekit/store"
)

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func onDay(n float64) time.Time { return start.Add(time.Duration(n * float64(24*time.Hour))) }

var plans = []api.PutPlanParams{
	{ID: "year", Duration: api.Duration{Days: 365}, Terms: api.Terms{MaxActivations: new(int64(5)), Entitlements: map[string]any{"export": true}}},
	{ID: "year2", Line: "year", Duration: api.Duration{Days: 365}, Terms: api.Terms{MaxActivations: new(int64(6))}},
	{ID: "month", Duration: api.Duration{Days: 30}, Terms: api.Terms{GraceSeconds: 86400, MaxActivations: new(int64(2))}},
	{ID: "free", Terms: api.Terms{MaxActivations: new(int64(1))}},
	{ID: "maintained", Duration: api.Duration{Years: 1}, UntilEnds: api.UntilEndsUpdates, Terms: api.Terms{GraceSeconds: 7, MaxActivations: new(int64(3))}},
	{ID: "seats", Kind: api.PlanAddOn, Duration: api.Duration{Days: 30}, Terms: api.Terms{MaxActivations: new(int64(2)), Entitlements: map[string]any{"projects": 3}}},
	{ID: "sso", Kind: api.PlanAddOn, Terms: api.Terms{MaxActivations: new(int64(0)), Entitlements: map[string]any{"sso": true}}},
}

// A sale is an event of a purchase.
type sale = api.RecordPurchaseParams

func sold(reference, plan string, day float64) sale {
	return sale{Reference: reference, At: onDay(day), PlanID: plan, State: api.PurchaseActive}
}

func said(reference string, day float64, state api.PurchaseState) sale {
	return sale{Reference: reference, At: onDay(day), State: state}
}

func until(e sale, day float64) sale {
	e.Until = api.To(onDay(day))
	return e
}

// A Shown is what a test looks at in a license.
type Shown struct {
	Seats int64   // negative: unlimited
	End   float64 // in days from 1 March 2026, 12:00 UTC; negative: never
	names string
	ok    bool // it is valid
}

const never = -1

// ordinary are sales of one license whose first purchase makes it, and what it is on a day.
var ordinary = []struct {
	name  string
	sales []sale
	day   float64
	want  Shown
}{
	{"a year renewed 65 days early", []sale{sold("a", "year", 0), sold("b", "year", 300)}, 301, Shown{5, 730, "[export]", true}},
	{"a renewal of another plan of the line", []sale{sold("a", "year", 0), sold("b", "year2", 300)}, 400, Shown{6, 730, "[]", true}},
	{"a year that was skipped", []sale{sold("a", "year", 0), sold("b", "year", 500)}, 501, Shown{5, 865, "[export]", true}},
	{"a renewal that is refunded", []sale{sold("a", "year", 0), sold("b", "year", 300), said("b", 310, "refunded")}, 311, Shown{5, 365, "[export]", true}},
	{"the first of two years refunded", []sale{sold("a", "year", 0), sold("b", "year", 300), said("a", 310, "refunded")}, 311, Shown{5, 675, "[export]", true}},
	{"an upgrade that is refunded", []sale{sold("a", "month", 0), sold("b", "year", 5), said("b", 6, "refunded")}, 7, Shown{2, 30, "[]", true}},
	{"an add-on that is refunded", []sale{sold("a", "year", 0), sold("b", "seats", 5), said("b", 6, "refunded")}, 7, Shown{5, 365, "[export]", true}},
	{"an add-on adds", []sale{sold("a", "year", 0), sold("b", "sso", 5)}, 7, Shown{5, 365, "[export sso]", true}},
	{"two add-ons add", []sale{sold("a", "year", 0), sold("b", "seats", 5), sold("c", "seats", 6)}, 7, Shown{9, 365, "[export projects]", true}},
	{"an add-on ends", []sale{sold("a", "year", 0), sold("b", "seats", 5)}, 36, Shown{5, 365, "[export]", true}},
	{"an add-on ends after its base", []sale{sold("a", "month", 0), sold("b", "seats", 25)}, 40, Shown{4, 30, "[projects]", false}},
	{"a paused second purchase", []sale{sold("a", "year", 0), sold("b", "month", 5), said("b", 6, "paused")}, 7, Shown{5, 365, "[export]", true}},
	{"a paused add-on", []sale{sold("a", "year", 0), sold("b", "seats", 5), said("b", 6, "paused")}, 7, Shown{5, 365, "[export]", true}},
	{"a free plan and a subscription that ends", []sale{sold("a", "free", 0), until(sold("b", "year", 5), 100), said("b", 50, "ended")}, 60, Shown{1, never, "[]", true}},
	{"a canceled subscription and another", []sale{until(sold("a", "month", 0), 30), said("a", 10, "ended"), until(sold("b", "month", 20), 50)}, 21, Shown{2, 50, "[]", true}},
	{"two subscriptions, of which one ends", []sale{until(sold("a", "month", 0), 30), until(sold("b", "year", 1), 366), said("b", 3, "ended")}, 4, Shown{2, 30, "[]", true}},
	{"a perpetual license that is refunded", []sale{sold("a", "maintained", 0), said("a", 5, "ended"), said("a", 9, "refunded")}, 10, Shown{3, 9, "[]", false}},
}

// Run reports the sales of each history in every order on a store, which must be empty of
// plans. Check is called with each license then; nil: not.
func Run(t *testing.T, st store.Store, check func(t *testing.T, licenseID string, now time.Time)) {
	now := start
	rules := license.New(st, license.Options{Now: func() time.Time { return now }})
	sell := selling.New(rules)
	for _, p := range plans {
		p.ProductID = "prod_editor"
		if _, err := sell.PutPlan(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	for n, h := range ordinary {
		t.Run(h.name, func(t *testing.T) {
			now = onDay(h.day)
			for m, order := range orders(len(h.sales)) {
				id := ""
				tell := func(e sale) {
					e.CustomerID = "cus_ada"
					if e.Reference != "a" {
						e.LicenseID = id
					}
					e.Reference = fmt.Sprint(e.Reference, ":", n, ":", m)
					f, err := sell.RecordPurchase(t.Context(), e)
					if err != nil {
						t.Fatal(err)
					}
					if id == "" {
						id = f.LicenseID
					}
				}
				var waiting []sale // for the license to be there
				for _, i := range order {
					if e := h.sales[i]; id == "" && e.Reference != "a" {
						waiting = append(waiting, e)
					} else {
						tell(e)
					}
				}
				for _, e := range waiting {
					tell(e)
				}
				if got := Show(t, rules, id); got != h.want {
					t.Fatalf("order %v: %+v, want %+v", order, got, h.want)
				}
				if check != nil {
					check(t, id, now)
				}
			}
		})
	}
}

// Show reads a license.
func Show(t *testing.T, rules *license.Service, id string) Shown {
	t.Helper()
	l, err := rules.Get(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	is := Shown{Seats: -1, End: never}
	if l.MaxActivations != nil {
		is.Seats = *l.MaxActivations
	}
	if l.ExpiresAt != nil {
		is.End = l.ExpiresAt.Sub(start).Hours() / 24
	}
	names := make([]string, 0, len(l.Entitlements))
	for name := range l.Entitlements {
		names = append(names, name)
	}
	slices.Sort(names)
	is.names = fmt.Sprint(names)
	v, err := rules.Validate(t.Context(), api.ValidateKeyParams{Key: l.Key})
	if err != nil {
		t.Fatal(err)
	}
	is.ok = v.Valid
	return is
}

// orders returns the permutations of the numbers below n.
func orders(n int) (all [][]int) {
	if n == 0 {
		return [][]int{nil}
	}
	for _, order := range orders(n - 1) {
		for i := range n {
			all = append(all, slices.Insert(slices.Clone(order), i, n-1))
		}
	}
	return all
}
