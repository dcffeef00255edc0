package selling

import (
	"context"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// PutPlan creates a plan or replaces all its terms: a field that is not set gets
// its default. It appends a plan.created or plan.updated event. If nothing
// changes, it writes nothing. It returns an [*api.InvalidError], a [*api.StaleError],
// [api.ErrNotFound] if there is no plan and IfMatch is set, or [api.ErrProductForbidden].
func (s *Service) PutPlan(ctx context.Context, p api.PutPlanParams) (api.Plan, error) {
	plan, _, err := inner.Of(s.rules).Plans().PutPlan(ctx, p)
	return plan, err
}

// GetPlan returns a plan, or [api.ErrNotFound].
func (s *Service) GetPlan(ctx context.Context, id string) (api.Plan, error) {
	return inner.Of(s.rules).Plans().GetPlan(ctx, id)
}

// ListPlans returns a page of plans in the order of their IDs. It returns an
// [*api.InvalidError].
func (s *Service) ListPlans(ctx context.Context, p api.ListPlansParams) (api.Page[api.Plan], error) {
	return inner.Of(s.rules).Plans().ListPlans(ctx, p)
}

// DeletePlan removes a plan and appends a plan.deleted event. Licenses and
// purchases keep what they have of it. It returns [api.ErrNotFound] or a
// [*api.StaleError].
func (s *Service) DeletePlan(ctx context.Context, p api.DeletePlanParams) error {
	return inner.Of(s.rules).Plans().DeletePlan(ctx, p)
}

// ApplyPlan replaces the grace period, activation limit, lease, offline time,
// entitlements and meters of a license with those of a plan, and appends a
// license.updated event. A license of a purchase gets as many activations and units of
// its meters as its quantity buys. The key, dates, customer and metadata stay, and so does the plan
// of the purchase: the next change of that replaces the terms again. It returns
// an [*api.InvalidError] if the plan does not exist or is one of another product;
// other errors are those of [license.Service.Suspend], except for [*api.MoveError].
func (s *Service) ApplyPlan(ctx context.Context, p api.ApplyPlanParams) (api.License, error) {
	return inner.Of(s.rules).Purchases().ApplyPlan(ctx, p)
}
