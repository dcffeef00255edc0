package license

import (
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/leave"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/licenses"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/meters"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/plans"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/purchases"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/seats"
)

// Faults returns the errors in the parameters of a call, given as a pointer. A
// decoder that could not decode all fields reports them together with its own,
// instead of making the call. So they do not include errors of absent fields that
// others could replace.
func (s internals) Faults(params any) []api.FieldError {
	switch p := params.(type) {
	case *api.CreateLicenseParams:
		return call.CheckGiven(p)
	case *api.CreateBatchParams:
		return licenses.CheckBatch(p)
	case *api.PutPlanParams:
		return plans.CheckPlan(p, s.c.Now())
	case *api.RecordPurchaseParams:
		return purchases.CheckPurchase(p, s.c.Now())
	case *api.UpdateLicenseParams:
		return licenses.CheckUpdate(*p)
	case *api.TransferLicenseParams:
		return leave.CheckTransfer(p)
	case *api.RenewLicenseParams:
		return licenses.CheckRenew(*p)
	case *api.ActivateKeyParams:
		return seats.CheckActivate(*p)
	case *api.DeactivateKeyParams:
		return seats.CheckDeactivate(*p)
	case *api.CountUsageParams:
		return meters.CheckCount(p, s.c.Now())
	case *api.RecordUsageParams:
		return meters.CheckRecord(p, s.c.Now())
	case *api.IssueFileParams:
		return seats.CheckIssueFile(*p)
	}
	return call.CheckTags(params)
}
