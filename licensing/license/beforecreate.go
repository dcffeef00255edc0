package license

import (
	"context"
	"fmt"
	"maps"
)

// prepare fills in the terms of the plan of p and runs Options.BeforeCreate. The
// caller checks the result.
func (s *Service) prepare(ctx context.Context, p *CreateParams) error {
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
func (s *Service) beforeCreate(ctx context.Context, p *CreateParams) error {
	if err := s.checkFields(p); err != nil {
		return err
	}
	*p = clone(*p)
	if err := s.opts.BeforeCreate(ctx, p); err != nil {
		return fmt.Errorf("before create: %w", err)
	}
	return nil
}

// CreateOnce is Create inside Once: it stores the reply that answer makes of the
// license. Options.BeforeCreate runs before the Update, and not at all if there
// is a stored reply.
func (s internals) CreateOnce(ctx context.Context, key, fingerprint string, p CreateParams, answer func(License) ([]byte, error)) (reply []byte, replayed bool, err error) {
	create := (*Service).Create
	if s.opts.BeforeCreate != nil {
		create = (*Service).create
		if reply, replayed, err = s.replay(ctx, key, fingerprint); err != nil || replayed {
			return reply, replayed, err
		}
		if err := s.prepare(ctx, &p); err != nil {
			return nil, false, err
		}
	}
	return s.Once(ctx, key, fingerprint, func(in *Service) ([]byte, error) {
		l, err := create(in, ctx, p)
		if err != nil {
			return nil, err
		}
		return answer(l)
	})
}

// clone returns a copy of p, whose fields have been checked, that shares no
// memory with it.
func clone(p CreateParams) CreateParams {
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
