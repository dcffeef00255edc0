package purchases

import (
	"context"
	"slices"
	"time"

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

// Started returns what a license, whose record is rec, becomes by its first activation at
// an instant. Put records the activation in the purchases, stores the license and appends a
// license.updated event.
func (s Service) Started(ctx context.Context, r store.Reader, rec record.License, now time.Time) (next record.License, put func(context.Context, *call.Tx) error, err error) {
	was, err := OfLicense(ctx, r, rec.ID)
	if err != nil {
		return next, nil, err
	}
	was = slices.Clone(was) // an Update changes its own, see OfLicense
	is := slices.Clone(was)
	for i := range is {
		if is[i].starts() {
			is[i].Activated = now
		}
	}
	before, err := licenses.FromRecord(rec, now)
	if err != nil {
		return next, nil, err
	}
	d, changed := decision{was: termsOf(was...), is: termsOf(is...)}, rec
	if err := d.change(&changed, now); err != nil {
		return next, nil, err
	}
	put = func(ctx context.Context, tx *call.Tx) error {
		for i, p := range is {
			if !was[i].starts() {
				continue
			}
			if _, err := PutPurchase(ctx, tx, was[i], p); err != nil {
				return err
			}
		}
		_, _, err := licenses.Of(s.Call).Replace(ctx, tx, rec, before, changed, api.EventLicenseUpdated, api.EventData{})
		return err
	}
	next, err = licenses.Revised(rec, changed, now)
	return next, put, err
}
