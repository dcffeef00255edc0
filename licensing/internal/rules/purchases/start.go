package purchases

import (
	"context"
	"slices"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/licenses"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/plans"
	"github.com/seed-d8a106b4/licensekit/store"
)

// starts reports whether the first activation of its license has yet to be recorded in
// the purchase.
func (p Purchase) starts() bool {
	return p.Terms.Value.Starts == api.StartsActivation && p.Activated.IsZero()
}

// start records in a purchase when its license was first activated, as far as the other
// purchases of the license and its activations still show it.
func (p *Purchase) start(ctx context.Context, r store.Reader, others []Purchase) error {
	if !p.starts() {
		return nil
	}
	for _, other := range others {
		p.Activated = call.FirstOf(p.Activated, other.Activated)
	}
	rows, err := r.Activations(ctx, store.ActivationQuery{LicenseID: p.LicenseID, Limit: 1})
	for _, row := range rows { // the oldest
		oldest, err := record.ReadActivation(row)
		if err != nil {
			return err
		}
		p.Activated = call.FirstOf(p.Activated, oldest.CreatedAt)
	}
	return err
}

// PlanOfRow returns the plan with which a license that waits for its first activation is
// imported, or an [*api.InvalidError].
func (s Service) PlanOfRow(ctx context.Context, r store.Reader, row api.LicenseRow) (api.Plan, error) {
	plan, ok, err := plans.Of(s.Call).FindPlan(ctx, r, row.PlanID)
	switch {
	case err != nil:
	case !ok || plan.Starts != row.Starts || plan.ProductID != row.ProductID:
		err = api.Invalid("starts", api.FieldUnknown, "needs the plan_id of a plan of the product that starts so")
	case row.ExpiresAt != nil:
		err = api.Invalid("starts", api.FieldOutOfRange, "must be omitted if expires_at is set")
	}
	return plan, err
}

// Started records in the purchases of a license, whose record is rec, that it is first
// activated now, and changes the license accordingly. It appends a license.updated event.
func (s Service) Started(ctx context.Context, tx *call.Tx, rec record.License) error {
	all, err := OfLicense(ctx, tx, rec.ID)
	if err != nil {
		return err
	}
	d := decision{was: termsOf(all...)}
	all = slices.Clone(all)
	for i, before := range all {
		if !before.starts() {
			continue
		}
		p := before
		p.Activated = tx.Now
		if all[i], err = PutPurchase(ctx, tx, before, p); err != nil {
			return err
		}
	}
	d.is = termsOf(all...)
	before, err := licenses.FromRecord(rec, tx.Now)
	if err != nil {
		return err
	}
	next := rec
	if err := d.change(&next, tx.Now); err != nil {
		return err
	}
	_, _, err = licenses.Of(s.Call).Replace(ctx, tx, rec, before, next, api.EventLicenseUpdated, api.EventData{})
	return err
}
