package license

import (
	"context"
	"fmt"
	"maps"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// prepare fills in the terms of the plan of p and runs Options.BeforeCreate. The
// caller checks the result.
func (s *Service) prepare(ctx context.Context, p *api.CreateLicenseParams) error {
	if p.PlanID != "" {
		if err := s.fillPlan(ctx, s.reader(), p); err != nil {
			return err
		}
	}
	if s.opts.BeforeCreate != nil {
		return s.beforeCreate(ctx, p)
	}
	return nil
}

// beforeCreate checks p and runs Options.BeforeCreate, which is set, on a copy of it.
func (s *Service) beforeCreate(ctx context.Context, p *api.CreateLicenseParams) error {
	if err := s.checkFields(p); err != nil {
		return err
	}
	*p = clone(*p)
	if err := s.opts.BeforeCreate(ctx, p); err != nil {
		return fmt.Errorf("before create: %w", err)
	}
	return nil
}

// CreateInParts returns the parts of Create for [internals.OncePrepared]:
// Options.BeforeCreate runs before the Update.
func (s internals) CreateInParts(ctx context.Context, p api.CreateLicenseParams) (prepare func() error, change func(*Service) (api.License, error)) {
	if s.opts.BeforeCreate == nil {
		return nil, func(in *Service) (api.License, error) { return in.Create(ctx, p) }
	}
	return func() error { return s.prepare(ctx, &p) },
		func(in *Service) (api.License, error) { return in.create(ctx, p) }
}

// clone returns a copy of p, whose fields have been checked, that shares no
// memory with it.
func clone(p api.CreateLicenseParams) api.CreateLicenseParams {
	p.StartsAt, p.ExpiresAt, p.UpdatesUntil = clonePointer(p.StartsAt), clonePointer(p.ExpiresAt), clonePointer(p.UpdatesUntil)
	p.MaxActivations, p.LeaseSeconds, p.OfflineSeconds = clonePointer(p.MaxActivations), clonePointer(p.LeaseSeconds), clonePointer(p.OfflineSeconds)
	p.Entitlements, p.Metadata = maps.Clone(p.Entitlements), maps.Clone(p.Metadata)
	return p
}

func clonePointer[T any](v *T) *T {
	if v == nil {
		return nil
	}
	c := *v
	return &c
}
