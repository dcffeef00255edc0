package selling

import (
	"context"
	"iter"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// PutPlan creates a plan or replaces all its terms: a field that is not set gets
// its default. It appends a plan.created or plan.updated event. If nothing
// changes, it writes nothing. It returns an [*api.InvalidError], a [*api.StaleError],
// [api.ErrNotFound] if there is no plan and IfMatch is set, or [api.ErrProductForbidden].
// If the Waiting of the result is not 0, call [Service.TakeUpWaiting].
func (s *Service) PutPlan(ctx context.Context, p api.PutPlanParams) (api.Plan, error) {
	plan, _, err := inner.Of(s.rules).Purchases().PutPlan(ctx, p)
	return plan, err
}

// TakeUpWaiting gives up to 50 purchases that wait for a plan their licenses, as if the plan
// had existed when they were reported. Call it again with NextCursor until that is empty.
//
// Each purchase has an Update of its own, before which Options.BeforeCreate runs. Between two
// of them, each purchase either waits, or has its license and the event of that; a purchase
// with a license does not wait any more. So a call that failed can be repeated, with the same
// cursor or from the beginning, and so can one whose result was lost. A purchase that
// BeforeCreate refuses waits on. Inside [license.Service.Atomically], all of it is in the one
// Update.
//
// A caller limited to products takes up the purchases that it sees. TakeUpWaiting returns
// [api.ErrNotFound] or an [*api.InvalidError].
func (s *Service) TakeUpWaiting(ctx context.Context, p api.TakeUpWaitingParams) (api.PlanTakeUp, error) {
	return inner.Of(s.rules).Purchases().TakeUp(ctx, p)
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

// AllPlans iterates over the plans that p selects, in the order of their IDs, and stops
// after the first error. It ignores p.Limit and p.Cursor. Each page is a separate read.
func (s *Service) AllPlans(ctx context.Context, p api.ListPlansParams) iter.Seq2[api.Plan, error] {
	return inner.Of(s.rules).Plans().AllPlans(ctx, p)
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
// of the purchase: the next change of that replaces the terms again. If the plan is that of
// the governing purchase, ApplyPlan does for this license what [Service.RollOutPlan] does for
// all. It returns an [*api.InvalidError] if the plan does not exist or is one of another
// product; other errors are those of [license.Service.Suspend], except for [*api.StateError].
func (s *Service) ApplyPlan(ctx context.Context, p api.ApplyPlanParams) (api.License, error) {
	return inner.Of(s.rules).Purchases().ApplyPlan(ctx, p)
}

// RollOutPlan gives purchases with earlier terms of a plan, trials included, the terms that
// the plan has now, with its duration, whether or not they govern their license. Each license changes as if
// the purchase had been made with these terms: a field that was set by hand stays unless the
// plan changes it. For each license that changes, RollOutPlan appends one event, such as
// license.updated.
//
// A call looks at up to 50 purchases, in one Update; call it again with NextCursor
// until that is empty. It can be stopped after any call, and started from the beginning:
// purchases that have the present terms do not change. Licenses that only have the ID of
// the plan, as those of Create, do not change; see [Service.GetPlanUse]. It returns
// [api.ErrNotFound] or an [*api.InvalidError].
func (s *Service) RollOutPlan(ctx context.Context, p api.RollOutPlanParams) (api.PlanRollout, error) {
	return inner.Of(s.rules).Purchases().RollOutPlan(ctx, p)
}

// GetPlanUse counts the purchases that RollOutPlan looks at, and the licenses that only
// have the ID of the plan. It reads all licenses, for a second at most. It returns
// [api.ErrNotFound].
func (s *Service) GetPlanUse(ctx context.Context, id string) (api.PlanUse, error) {
	if _, err := s.GetPlan(ctx, id); err != nil {
		return api.PlanUse{}, err
	}
	n, more, err := inner.Of(s.rules).Purchases().CountOfPlan(ctx, id)
	if err != nil {
		return api.PlanUse{}, err
	}
	counts, err := inner.Of(s.rules).Find().CountPlans(ctx)
	return api.PlanUse{Object: "plan_use", PlanID: id, Purchases: n, Licenses: counts.Named[id], AtLeast: more || counts.AtLeast}, err
}
