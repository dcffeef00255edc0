package selling_test

import (
	"context"
	"fmt"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/licensing/selling"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// rollOut gives all purchases of a plan the terms that it has now.
func rollOut(ctx context.Context, sales *selling.Service) error {
	p := api.RollOutPlanParams{ID: "team", Reason: "two more activations for everybody"}
	for {
		done, err := sales.RollOutPlan(ctx, p)
		if err != nil {
			return err // start again from the beginning
		}
		if p.Cursor = done.NextCursor; p.Cursor == "" {
			return nil
		}
	}
}

func ExampleService_RollOutPlan() {
	ctx, sales := context.Background(), selling.New(license.New(memory.New(), license.Options{}))
	five, seven := int64(5), int64(7)
	plan := api.PutPlanParams{ID: "team", ProductID: "editor", Terms: api.Terms{MaxActivations: &five}}
	_, err := sales.PutPlan(ctx, plan)
	if err == nil {
		_, err = sales.Fulfill(ctx, api.FulfillParams{Reference: "shop:1001", CustomerID: "ada", PlanID: "team", State: api.PurchaseActive})
	}
	if plan.MaxActivations = &seven; err == nil {
		_, err = sales.PutPlan(ctx, plan)
	}
	if err == nil {
		err = rollOut(ctx, sales)
	}
	f, _ := sales.GetFulfillment(ctx, "shop:1001")
	fmt.Println(err, *f.License.MaxActivations)
	// Output: <nil> 7
}
