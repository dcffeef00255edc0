package endpoints

import (
	"context"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

func getPlan(rules *license.Service, ctx context.Context, p byPlan) (license.Plan, error) {
	return rules.GetPlan(ctx, p.ID)
}

// A plan is the response to a request that may have created it.
type plan struct {
	license.Plan
	created bool
}

func (p plan) Created() []string {
	if !p.created {
		return nil
	}
	return []string{"plan", p.ID}
}

func putPlan(rules *license.Service, ctx context.Context, p license.PutPlanParams) (plan, error) {
	put, created, err := inner.Of(rules).PutPlan(ctx, p)
	return plan{put, created}, err
}

func deletePlan(rules *license.Service, ctx context.Context, p license.DeletePlanParams) (deleted, error) {
	err := rules.DeletePlan(ctx, p)
	return deleted{"plan", p.ID, true}, err
}

// A fulfillment is the response to a request that may have created a license.
type fulfillment struct{ license.Fulfillment }

func (f fulfillment) Created() []string {
	if f.Result != license.FulfillCreated {
		return nil
	}
	return []string{"license", f.LicenseID}
}

func fulfill(rules *license.Service, ctx context.Context, p license.FulfillParams) (fulfillment, error) {
	f, err := rules.Fulfill(ctx, p)
	return fulfillment{f}, err
}

type (
	byPlan struct {
		ID string `path:"planID"`
	}
	byReference struct {
		Reference string `path:"reference"`
	}
)

func getFulfillment(rules *license.Service, ctx context.Context, p byReference) (license.Fulfillment, error) {
	return rules.GetFulfillment(ctx, p.Reference)
}

// A trial is the response to a request that may have created a license.
type trial struct{ license.Trial }

func (t trial) Created() []string {
	if !t.Started {
		return nil
	}
	return []string{"license", t.License.ID}
}

func startTrial(rules *license.Service, ctx context.Context, p license.StartTrialParams) (trial, error) {
	t, err := rules.StartTrial(ctx, p)
	return trial{t}, err
}
