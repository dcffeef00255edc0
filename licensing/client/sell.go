package client

import (
	"context"
	"iter"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// PutPlan creates a plan or replaces all its terms. It fails with
// [api.CodeInvalidParameters], [api.CodeProductForbidden] or, with IfMatch, [api.CodeStale] or
// [api.CodeNotFound].
func (c *Client) PutPlan(ctx context.Context, p api.PutPlanParams) (api.Plan, error) {
	return call[api.Plan](ctx, c, "PUT /plan/{planID}", 0, p)
}

// TakeUpWaiting gives up to 50 purchases that wait for a plan their licenses, after PutPlan has
// returned a plan with Waiting. Call it again with NextCursor until that is empty. A call that
// failed can be repeated. It fails with [api.CodeNotFound] or [api.CodeInvalidParameters].
func (c *Client) TakeUpWaiting(ctx context.Context, p api.TakeUpWaitingParams) (api.PlanTakeUp, error) {
	return call[api.PlanTakeUp](ctx, c, "POST /plan/{planID}/waiting", streamed, p)
}

// GetPlan returns a plan. It fails with [api.CodeNotFound].
func (c *Client) GetPlan(ctx context.Context, id string) (api.Plan, error) {
	return call[api.Plan](ctx, c, "GET /plan/{planID}", 0, planID{id})
}

type planID struct {
	ID string `json:"-" path:"planID"`
}

// ListPlans returns the selected plans in the order of their IDs. It reads page by
// page as the loop proceeds. An error ends the loop.
func (c *Client) ListPlans(ctx context.Context, p api.ListPlansParams) iter.Seq2[api.Plan, error] {
	return list[api.Plan](ctx, c, "GET /plan", 0, p.Cursor, func(cursor string) any { p := p; p.Cursor = cursor; return p })
}

// DeletePlan deletes a plan. Licenses keep what they have of it. It fails with
// [api.CodeNotFound] or [api.CodeStale].
func (c *Client) DeletePlan(ctx context.Context, p api.DeletePlanParams) error {
	_, err := call[struct{}](ctx, c, "DELETE /plan/{planID}", 0, p)
	return deleted(err)
}

// GetPlanUse counts the purchases that [Client.RollOutPlan] looks at, and the licenses that
// only have the ID of the plan. It fails with [api.CodeNotFound].
func (c *Client) GetPlanUse(ctx context.Context, id string) (api.PlanUse, error) {
	return call[api.PlanUse](ctx, c, "GET /plan/{planID}/use", 0, planID{id})
}

// RollOutPlan gives up to 50 purchases with earlier terms of a plan the terms that the plan
// has now, and changes their licenses. Call it again with NextCursor until that is empty. A
// repeated call changes nothing. It fails with [api.CodeNotFound] or
// [api.CodeInvalidParameters].
func (c *Client) RollOutPlan(ctx context.Context, p api.RollOutPlanParams) (api.PlanRollout, error) {
	return call[api.PlanRollout](ctx, c, "POST /plan/{planID}/rollout", keyed, p)
}

// ApplyPlan gives a license the terms of a plan, except for its duration, or refreshes
// its purchase if that has the plan. In addition to the errors of [Client.UpdateLicense],
// it fails with [api.CodeInvalidParameters] if there is no such plan of the license's
// product.
func (c *Client) ApplyPlan(ctx context.Context, p api.ApplyPlanParams) (api.License, error) {
	return call[api.License](ctx, c, "POST /license/{licenseID}/plan", keyed, p)
}

// RecordPurchase records what an event says about a purchase, and creates or changes its
// license. The same events lead to the same license in any order, however often
// they are sent; At must be set. It fails with [api.CodeInvalidParameters] or
// [api.CodeReferenceTaken]; an API client that is limited to products must set PlanID
// and gets [api.CodeProductForbidden] for other plans.
func (c *Client) RecordPurchase(ctx context.Context, p api.RecordPurchaseParams) (api.Purchase, error) {
	return call[api.Purchase](ctx, c, "PUT /purchase/{reference}", 0, p)
}

// GetPurchase returns a purchase as it was last reported. It fails with
// [api.CodeNotFound].
func (c *Client) GetPurchase(ctx context.Context, reference string) (api.Purchase, error) {
	return call[api.Purchase](ctx, c, "GET /purchase/{reference}", 0, purchaseReference{reference})
}

// ListPurchases returns the purchases of a license, the governing one first, or the purchases that
// wait, in an order that does not change. They have LicenseID, and no License. It reads page by
// page as the loop proceeds. An error ends the loop.
func (c *Client) ListPurchases(ctx context.Context, p api.ListPurchasesParams) iter.Seq2[api.Purchase, error] {
	return list[api.Purchase](ctx, c, "GET /purchase", 0, p.Cursor, func(cursor string) any { p := p; p.Cursor = cursor; return p })
}

type purchaseReference struct {
	Reference string `json:"-" path:"reference"`
}

// GetSales returns what was sold in a period, such as "last-week". It needs the scope
// sales:read, and fails with [api.CodeInvalidRequest], which names the periods, or
// [api.CodeProductForbidden].
func (c *Client) GetSales(ctx context.Context, period string) (api.Sales, error) {
	type params struct {
		Period string `json:"-" query:"period"`
	}
	return call[api.Sales](ctx, c, "GET /sales", 0, params{period})
}

// ReopenPurchase continues a purchase that was ended by mistake: events that say ended or
// refunded up to At do not count any more. It fails with [api.CodeNotFound] or
// [api.CodeInvalidParameters].
func (c *Client) ReopenPurchase(ctx context.Context, p api.ReopenPurchaseParams) (api.Purchase, error) {
	return call[api.Purchase](ctx, c, "POST /purchase/{reference}/reopen", keyed, p)
}

// AllowTrial allows the customer and the subjects of a trial another one. It fails with
// [api.CodeNotFound].
func (c *Client) AllowTrial(ctx context.Context, p api.AllowTrialParams) error {
	_, err := call[struct{}](ctx, c, "POST /license/{licenseID}/trial", keyed, p)
	return err
}

// StartTrial creates a license for a trial, or returns that of the customer's
// earlier trial. It fails with [api.CodeInvalidParameters] or, if another customer had
// a trial with one of the subjects, [api.CodeTrialTaken].
func (c *Client) StartTrial(ctx context.Context, p api.StartTrialParams) (api.Trial, error) {
	return call[api.Trial](ctx, c, "POST /license/trial", keyed, p)
}
