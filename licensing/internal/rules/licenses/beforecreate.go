package licenses

import (
	"context"
	"fmt"
	"maps"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/plans"
)

// prepare fills in the terms of the plan of p and runs Options.BeforeCreate. The
// caller checks the result.
func (s Service) prepare(ctx context.Context, p *api.CreateLicenseParams) error {
	if p.PlanID != "" {
		if err := plans.Of(s.Call).FillPlan(ctx, s.Reader(), p); err != nil {
			return err
		}
	}
	if s.Opts.BeforeCreate != nil {
		return s.BeforeCreate(ctx, p)
	}
	return nil
}

// BeforeCreate checks p and runs Options.BeforeCreate, which is set, on a copy of it.
func (s Service) BeforeCreate(ctx context.Context, p *api.CreateLicenseParams) error {
	if err := s.CheckFields(p); err != nil {
		return err
	}
	*p = Clone(*p)
	if err := s.Opts.BeforeCreate(ctx, p); err != nil {
		return fmt.Errorf("before create: %w", err)
	}
	return nil
}

// CreateInParts returns the parts of Create for OncePrepared:
// Options.BeforeCreate runs before the Update.
func (s Service) CreateInParts(ctx context.Context, p api.CreateLicenseParams) (prepare func() error, change func(*call.Call) (api.License, error)) {
	if s.Opts.BeforeCreate == nil {
		return nil, func(in *call.Call) (api.License, error) { return Of(in).Create(ctx, p) }
	}
	return func() error { return s.prepare(ctx, &p) },
		func(in *call.Call) (api.License, error) { return Of(in).create(ctx, p) }
}

// Clone returns a copy of p, whose fields have been checked, that shares no
// memory with it.
func Clone(p api.CreateLicenseParams) api.CreateLicenseParams {
	p.StartsAt, p.ExpiresAt, p.UpdatesUntil = clonePointer(p.StartsAt), clonePointer(p.ExpiresAt), clonePointer(p.UpdatesUntil)
	p.MaxActivations, p.LeaseSeconds, p.OfflineSeconds = clonePointer(p.MaxActivations), clonePointer(p.LeaseSeconds), clonePointer(p.OfflineSeconds)
	p.Entitlements, p.Metadata, p.Meters = maps.Clone(p.Entitlements), maps.Clone(p.Metadata), maps.Clone(p.Meters)
	for name, m := range p.Meters {
		m.Limit = clonePointer(m.Limit)
		p.Meters[name] = m
	}
	return p
}

func clonePointer[T any](v *T) *T {
	if v == nil {
		return nil
	}
	c := *v
	return &c
}
