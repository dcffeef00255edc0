package payment

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/licensing/selling"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// TestRecordItems: an add-on comes before the bases of two products, and gets the license
// of its own. One without a base waits.
func TestRecordItems(t *testing.T) {
	is := is.New(t)
	rules := license.New(memory.New(), license.Options{})
	sales := selling.New(rules)
	for id, kind := range map[string]api.PlanKind{"seats": api.PlanAddOn, "pro": api.PlanBase, "max": api.PlanBase} {
		_, err := sales.PutPlan(t.Context(), api.PutPlanParams{ID: id, ProductID: "atlas", Kind: kind, Terms: api.Terms{MaxActivations: new(int64(2))}})
		is.NoErr(err)
	}
	for id, kind := range map[string]api.PlanKind{"globe": api.PlanBase, "sun": api.PlanAddOn} {
		_, err := sales.PutPlan(t.Context(), api.PutPlanParams{ID: id, ProductID: id, Kind: kind, Terms: api.Terms{MaxActivations: new(int64(7))}})
		is.NoErr(err)
	}
	item := func(reference, plan string, quantity int64) api.RecordPurchaseParams {
		return api.RecordPurchaseParams{Reference: reference, CustomerID: "ada", PlanID: plan, Quantity: &quantity, State: api.PurchaseActive}
	}
	for range 2 { // the second time, nothing waits for its license
		got, err := RecordItems(t.Context(), sales, item("1", "seats", 3), item("2", "sun", 1), item("3", "globe", 0), item("4", "pro", 1), item("5", "max", 1))
		is.NoErr(err)
		f := map[string]api.Purchase{}
		for _, reference := range []string{"1", "2", "3", "4", "5"} {
			f[reference], err = sales.GetPurchase(t.Context(), reference)
			is.NoErr(err)
		}
		is.Equal(f["1"].LicenseID, f["4"].LicenseID)
		is.Equal(*f["4"].License.MaxActivations, int64(2+3*2))
		is.Equal(*f["3"].License.MaxActivations, int64(7))
		is.Equal(f["2"].Waiting, api.WaitingLicenseID)
		var keys []string
		for _, l := range got {
			keys = append(keys, l.Key)
		}
		slices.Sort(keys)
		want := []string{f["3"].License.Key, f["4"].License.Key, f["5"].License.Key}
		slices.Sort(want)
		is.Equal(keys, want)
	}
}

// TestRecordKeys: each unit has a key of its own, those that are not bought any more are
// suspended, and the end is that of all.
func TestRecordKeys(t *testing.T) {
	is := is.New(t)
	rules := license.New(memory.New(), license.Options{})
	sales := selling.New(rules)
	_, err := sales.PutPlan(t.Context(), api.PutPlanParams{ID: "pro", ProductID: "atlas"})
	is.NoErr(err)
	start := time.Now().Add(-time.Hour)
	at := start
	fulfill := func(quantity int64, state api.PurchaseState) map[api.LicenseStatus]int {
		at = at.Add(time.Second)
		is.NoErr(RecordKeys(t.Context(), sales, api.RecordPurchaseParams{Reference: "stripe:si_1", At: at, CustomerID: "ada", PlanID: "pro", Quantity: &quantity, State: state}))
		page, err := rules.List(t.Context(), api.ListLicensesParams{CustomerID: "ada"})
		is.NoErr(err)
		count := map[api.LicenseStatus]int{}
		for _, l := range page.Data {
			count[l.Status]++
		}
		return count
	}
	is.Equal(fulfill(3, api.PurchaseActive), map[api.LicenseStatus]int{api.LicenseActive: 3})
	is.Equal(fulfill(1, api.PurchaseActive), map[api.LicenseStatus]int{api.LicenseActive: 1, api.LicenseSuspended: 2})
	is.Equal(fulfill(5, api.PurchaseActive), map[api.LicenseStatus]int{api.LicenseActive: 5})
	at = start.Add(time.Second) // repeated, late
	is.Equal(fulfill(1, api.PurchaseActive), map[api.LicenseStatus]int{api.LicenseActive: 5})
	at = start.Add(time.Minute)
	is.Equal(fulfill(2, api.PurchaseActive), map[api.LicenseStatus]int{api.LicenseActive: 2, api.LicenseSuspended: 3})
	is.Equal(fulfill(2, api.PurchaseRefunded), map[api.LicenseStatus]int{api.LicenseExpired: 5})
}

// TestRecordKeysOfABatch: licenses that customers claim come without a purchase, which would
// say something of the reseller.
func TestRecordKeysOfABatch(t *testing.T) {
	is := is.New(t)
	rules := license.New(memory.New(), license.Options{ClaimFrom: []string{"batch:"}})
	sales := selling.New(rules)
	_, err := sales.PutPlan(t.Context(), api.PutPlanParams{ID: "pro", ProductID: "atlas"})
	is.NoErr(err)
	p := api.RecordPurchaseParams{Reference: "stripe:si_1", At: time.Now().Add(-time.Hour), CustomerID: "batch:spring", Name: "Reseller", PlanID: "pro", Quantity: new(int64(3)), State: api.PurchaseActive}
	invalid, ok := errors.AsType[*api.InvalidError](RecordKeys(t.Context(), sales, p))
	is.True(ok)
	is.Equal(invalid.Fields[0].Field, "customer_id")
	page, err := rules.List(t.Context(), api.ListLicensesParams{})
	is.NoErr(err)
	is.Equal(len(page.Data), 0)
	p.CustomerID = "batch"
	is.NoErr(RecordKeys(t.Context(), sales, p))
}
