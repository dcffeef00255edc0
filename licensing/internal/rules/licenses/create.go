package licenses

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/plans"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/terms"
	"github.com/seed-d8a106b4/licensekit/store"
)

// Create adds a license and appends a license.created event. It returns an
// [*api.InvalidError], [api.ErrProductForbidden], [api.ErrKeyTaken], or the error of
// Options.BeforeCreate.
func (s Service) Create(ctx context.Context, p api.CreateLicenseParams) (api.License, error) {
	if err := s.prepare(ctx, &p); err != nil {
		return api.License{}, err
	}
	return s.create(ctx, p)
}

// create is Create after Options.BeforeCreate.
func (s Service) create(ctx context.Context, p api.CreateLicenseParams) (api.License, error) {
	if err := s.CheckFields(&p); err != nil {
		return api.License{}, err
	}
	var created api.License
	err := s.Write(ctx, func(tx *call.Tx) (err error) {
		rec := NewRecord(tx.Now)
		WriteFields(p, &rec)
		if err := s.await(ctx, tx, p, &rec); err != nil {
			return err
		}
		created, err = s.Add(ctx, tx, rec, p, api.EventData{})
		return err
	})
	if err != nil {
		return api.License{}, fmt.Errorf("create license: %w", err)
	}
	return s.Shown(created), nil
}

// NewRecord returns the record of a new license without the fields that the caller
// sets.
func NewRecord(now time.Time) record.License {
	return record.License{
		License:   store.License{ID: store.NewID("lic", now), State: store.StateActive},
		StateAt:   now,
		Revision:  1,
		CreatedAt: now,
		UpdatedAt: now,
	}
}

// await makes a new license of a plan that starts with the first activation last until
// then, unless its end is given.
func (s Service) await(ctx context.Context, tx *call.Tx, p api.CreateLicenseParams, rec *record.License) error {
	if p.PlanID == "" || p.ExpiresAt != nil {
		return nil
	}
	plan, ok, err := plans.ReadPlan(ctx, tx, p.PlanID)
	if err != nil || !ok || plan.Starts != api.StartsActivation {
		return err
	}
	field := "expires_at"
	if plan.UntilEnds == api.UntilEndsUpdates {
		field = "updates_until"
	}
	if p.UpdatesUntil != nil && field == "updates_until" || slices.Contains(p.Explicit, field) {
		return nil
	}
	return s.Await(ctx, tx, plan, rec)
}

// Await makes a new license last until its first activation, and from then on for the
// duration of a plan.
func (s Service) Await(ctx context.Context, tx *call.Tx, plan api.Plan, rec *record.License) error {
	state, err := StateOf(*rec)
	if err != nil {
		return err
	}
	rec.Bought, rec.Awaits = true, true
	return s.OwnChanged(ctx, tx, terms.OwnAwaiting(rec.ID, plan, rec.CreatedAt, state.Terms))
}

// Add writes a new record with the checked fields of p, and appends the event.
func (s Service) Add(ctx context.Context, tx *call.Tx, rec record.License, p api.CreateLicenseParams, data api.EventData) (api.License, error) {
	if err := followCustomer(ctx, tx, record.License{}, &rec); err != nil {
		return api.License{}, err
	}
	l := FromParts(rec, p.Entitlements, p.Metadata, p.Meters, tx.Now)
	coming, err := upcoming(rec)
	if err != nil {
		return api.License{}, err
	}
	l.Upcoming = coming
	if err := tx.CreateLicenses(ctx, rec.Row()); errors.Is(err, store.ErrExists) {
		return api.License{}, api.ErrKeyTaken
	} else if err != nil {
		return api.License{}, err
	}
	if err := s.putDue(ctx, tx, record.License{}, rec); err != nil {
		return api.License{}, err
	}
	if err := s.FollowAddress(ctx, tx, record.License{}, rec); err != nil {
		return api.License{}, err
	}
	return l, s.Append(ctx, tx, api.EventLicenseCreated, l, data)
}

// CheckFields validates the fields of a license, and that the caller may use its
// product.
func (s Service) CheckFields(p *api.CreateLicenseParams) error {
	if err := call.InvalidFields(call.CheckCreate(p)); err != nil {
		return err
	}
	if !s.Sees(p.ProductID) {
		return api.ErrProductForbidden
	}
	return nil
}
