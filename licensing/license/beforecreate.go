package license

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
)

// prepare checks p, runs Options.BeforeCreate on it, and checks the result.
func (s *Service) prepare(ctx context.Context, p *CreateParams) error {
	if err := s.checkFields(ctx, p); err != nil {
		return err
	}
	switch {
	case s.opts.BeforeCreate == nil:
		return nil
	case s.tx == nil || s.tx.hooks == nil:
		if err := s.beforeCreate(ctx, p); err != nil {
			return err
		}
	default:
		if err := s.tx.hooks.take(p); err != nil {
			return err
		}
	}
	return s.checkFields(ctx, p)
}

func (s *Service) beforeCreate(ctx context.Context, p *CreateParams) error {
	if err := s.opts.BeforeCreate(ctx, p); err != nil {
		return fmt.Errorf("before create: %w", err)
	}
	return nil
}

// hooks run Options.BeforeCreate for Create calls inside one Atomically or
// Once, outside of its Update, because a slow hook must not hold the write
// lock. A Create whose hook has not run aborts the Update; the hook runs;
// then the function runs again with the result.
type hooks struct {
	done    []hookResult // in call order
	next    int          // index in done of the next call
	pending *CreateParams
}

type hookResult struct{ given, result CreateParams }

// errHookPending aborts an Update in which a Create needs its hook to run
// first.
var errHookPending = errors.New("license: BeforeCreate must run first")

// take replaces p with the result of its hook, if the hook has run.
func (h *hooks) take(p *CreateParams) error {
	if h.next < len(h.done) && reflect.DeepEqual(h.done[h.next].given, *p) {
		*p = h.done[h.next].result.clone()
		h.next++
		return nil
	}
	given := p.clone()
	h.done, h.pending = h.done[:h.next], &given
	return errHookPending
}

// run runs the hook of the pending Create.
func (h *hooks) run(ctx context.Context, s *Service) error {
	given := *h.pending
	result := given.clone()
	if err := s.beforeCreate(ctx, &result); err != nil {
		return err
	}
	h.done, h.pending = append(h.done, hookResult{given, result}), nil
	return nil
}

func (p CreateParams) clone() CreateParams {
	p.Entitlements, p.Metadata = maps.Clone(p.Entitlements), maps.Clone(p.Metadata)
	return p
}
