package selling_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/selling"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// now is the clock of the examples.
func now() time.Time { return time.Date(2027, 3, 1, 12, 0, 0, 0, time.UTC) }

// newSales returns what a host has as Handler.Selling.
func newSales() *selling.Service {
	return licensing.NewHandler(memory.New(), licensing.Options{Now: now}).Selling()
}

// A plan has the terms that its purchases give to a license.
func ExampleService_PutPlan() {
	ctx := context.Background()
	sales := newSales()
	seats := int64(3)
	_, err := sales.PutPlan(ctx, api.PutPlanParams{
		ID: "team", ProductID: "atlas", Duration: api.Duration{Years: 1},
		Terms: api.Terms{MaxActivations: &seats, Entitlements: map[string]any{"export": true}},
	})
	if err != nil {
		log.Fatal(err)
	}
	quantity := int64(2)
	purchase, err := sales.RecordPurchase(ctx, api.RecordPurchaseParams{Reference: "shop:1001", CustomerID: "ada", PlanID: "team", Quantity: &quantity, State: api.PurchaseActive})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(*purchase.License.MaxActivations, purchase.License.Entitlements, purchase.License.ExpiresAt.Format(time.DateOnly))
	// Output: 6 map[export:true] 2028-03-01
}

// A customer has one trial of a product, and so has a device.
func ExampleService_StartTrial() {
	ctx := context.Background()
	sales := newSales()
	_, err := sales.PutPlan(ctx, api.PutPlanParams{ID: "trial", ProductID: "atlas", Duration: api.Duration{Days: 14}})
	if err != nil {
		log.Fatal(err)
	}
	trial, err := sales.StartTrial(ctx, api.StartTrialParams{PlanID: "trial", CustomerID: "ada", Subjects: []string{"device:7"}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(trial.License.ExpiresAt.Format(time.DateOnly))

	again, err := sales.StartTrial(ctx, api.StartTrialParams{PlanID: "trial", CustomerID: "ada"})
	fmt.Println(again.License.ID == trial.License.ID, err)
	_, err = sales.StartTrial(ctx, api.StartTrialParams{PlanID: "trial", CustomerID: "bob", Subjects: []string{"device:7"}})
	fmt.Println(errors.Is(err, api.ErrTrialTaken))
	// Output:
	// 2027-03-15
	// true <nil>
	// true
}

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
	ctx, sales := context.Background(), newSales()
	five, seven := int64(5), int64(7)
	plan := api.PutPlanParams{ID: "team", ProductID: "editor", Terms: api.Terms{MaxActivations: &five}}
	_, err := sales.PutPlan(ctx, plan)
	if err == nil {
		_, err = sales.RecordPurchase(ctx, api.RecordPurchaseParams{Reference: "shop:1001", CustomerID: "ada", PlanID: "team", State: api.PurchaseActive})
	}
	if plan.MaxActivations = &seven; err == nil {
		_, err = sales.PutPlan(ctx, plan)
	}
	if err == nil {
		err = rollOut(ctx, sales)
	}
	f, _ := sales.GetPurchase(ctx, "shop:1001")
	fmt.Println(err, *f.License.MaxActivations)
	// Output: <nil> 7
}
