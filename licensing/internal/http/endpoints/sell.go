package endpoints

import (
	"context"

	"github.com/seed-d8a106b4/licensekit/licensing/metering"
	"github.com/seed-d8a106b4/licensekit/licensing/selling"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

// sell returns a function of package selling as one of the rules.
func sell[P, R any](fn func(*selling.Service, context.Context, P) (R, error)) func(*license.Service, context.Context, P) (R, error) {
	return func(rules *license.Service, ctx context.Context, p P) (R, error) {
		return fn(selling.New(rules), ctx, p)
	}
}

// meter returns a function of package metering as one of the rules.
func meter[P, R any](fn func(*metering.Service, context.Context, P) (R, error)) func(*license.Service, context.Context, P) (R, error) {
	return func(rules *license.Service, ctx context.Context, p P) (R, error) {
		return fn(metering.New(rules), ctx, p)
	}
}

// A plan is the response to a request that may have created it.
type plan struct {
	api.Plan
	created bool
}

func newPlan(result any) []string {
	if p := result.(*plan); p.created {
		return []string{"plan", p.ID}
	}
	return nil
}

func putPlan(rules *license.Service, ctx context.Context, p api.PutPlanParams) (plan, error) {
	put, created, err := inner.Of(rules).Purchases().PutPlan(ctx, p)
	return plan{put, created}, err
}

func deletePlan(rules *license.Service, ctx context.Context, p api.DeletePlanParams) (deleted, error) {
	err := selling.New(rules).DeletePlan(ctx, p)
	return deleted{"plan", p.ID, true}, err
}

func purchaseCreated(result any) []string {
	if f := result.(*api.Purchase); f.Result == api.PurchaseResultCreated {
		return []string{"license", f.LicenseID}
	}
	return nil
}

func startTrialInParts(rules *license.Service, ctx context.Context, p api.StartTrialParams) (prepare func() error, change func(*license.Service) (api.Trial, error)) {
	return inner.Of(rules).StartTrialInParts(ctx, p)
}

type periodParams struct {
	Period string `query:"period"`
}

func byPeriod(rules *license.Service, ctx context.Context, p periodParams) (api.Sales, error) {
	return selling.New(rules).Sales(ctx, p.Period)
}

func reopenInParts(rules *license.Service, ctx context.Context, p api.ReopenPurchaseParams) (prepare func() error, change func(*license.Service) (api.Purchase, error)) {
	return inner.Of(rules).ReopenInParts(ctx, p)
}

// allowed is the response to a request that allows another trial.
type allowed struct {
	Object    string `json:"object"`
	LicenseID string `json:"license_id"`
	Allowed   bool   `json:"allowed"`
}

func allowTrial(rules *license.Service, ctx context.Context, p api.AllowTrialParams) (allowed, error) {
	err := selling.New(rules).AllowTrial(ctx, p)
	return allowed{"trial", p.LicenseID, true}, err
}

func newTrial(result any) []string {
	if t := result.(*api.Trial); t.Started {
		return []string{"license", t.License.ID}
	}
	return nil
}
