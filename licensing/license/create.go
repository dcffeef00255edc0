package license

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/core/record"
	"github.com/seed-d8a106b4/licensekit/store"
)

// Create adds a license and appends a license.created event. It returns an
// [*api.InvalidError], [api.ErrProductForbidden], [api.ErrKeyTaken], or the error of
// Options.BeforeCreate.
func (s *Service) Create(ctx context.Context, p api.CreateLicenseParams) (api.License, error) {
	if err := s.prepare(ctx, &p); err != nil {
		return api.License{}, err
	}
	return s.create(ctx, p)
}

// create is Create after Options.BeforeCreate.
func (s *Service) create(ctx context.Context, p api.CreateLicenseParams) (api.License, error) {
	if err := s.checkFields(&p); err != nil {
		return api.License{}, err
	}
	var created api.License
	err := s.write(ctx, func(tx *transaction) (err error) {
		rec := newRecord(tx.now)
		writeFields(p, &rec)
		created, err = s.add(ctx, tx, rec, p, api.EventData{})
		return err
	})
	if err != nil {
		return api.License{}, fmt.Errorf("create license: %w", err)
	}
	return s.shown(created), nil
}

// newRecord returns the record of a new license without the fields that the caller
// sets.
func newRecord(now time.Time) record.License {
	return record.License{
		License:   store.License{ID: store.NewID("lic", now), State: store.StateActive},
		StateAt:   now,
		Revision:  1,
		CreatedAt: now,
		UpdatedAt: now,
	}
}

// add writes a new record with the checked fields of p, and appends the event.
func (s *Service) add(ctx context.Context, tx *transaction, rec record.License, p api.CreateLicenseParams, data api.EventData) (api.License, error) {
	l := fromParts(rec, p.Entitlements, p.Metadata, tx.now)
	if err := tx.CreateLicenses(ctx, rec.Row()); errors.Is(err, store.ErrExists) {
		return api.License{}, api.ErrKeyTaken
	} else if err != nil {
		return api.License{}, err
	}
	return l, s.append(ctx, tx, api.EventLicenseCreated, l, data)
}
