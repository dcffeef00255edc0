package license_test

import (
	"context"
	"fmt"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/selling"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// The events of a purchase arrive in any order, and lead to the same license.
func ExampleService_RecordPurchase() {
	ctx := context.Background()
	licenses := license.New(memory.New(), license.Options{})
	seats := int64(5)
	if _, err := selling.New(licenses).PutPlan(ctx, api.PutPlanParams{ID: "price_pro", ProductID: "atlas", Terms: api.Terms{MaxActivations: &seats}}); err != nil {
		fmt.Println(err)
	}
	paid, canceled := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC), time.Date(2026, 4, 1, 9, 0, 0, 0, time.UTC)
	for _, p := range []api.RecordPurchaseParams{
		{At: canceled, State: api.PurchaseEnded},
		{At: paid, State: api.PurchaseActive, CustomerID: "cus_1", PlanID: "price_pro"},
		{At: paid, State: api.PurchaseActive, CustomerID: "cus_1", PlanID: "price_pro"},
	} {
		p.Reference = "stripe:si_1"
		f, err := selling.New(licenses).RecordPurchase(ctx, p)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(f.Result)
		if f.License != nil {
			fmt.Println(*f.License.MaxActivations, f.License.ExpiresAt.Format(time.DateOnly))
		}
	}
	// Output:
	// waiting
	// created
	// 5 2026-04-01
	// unchanged
	// 5 2026-04-01
}
