package license

import (
	"context"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
)

// Atomically runs fn in one Update: all calls that fn makes on the Service
// it receives take effect at one instant or, if fn returns an error, not at
// all.
//
// fn may run more than once before Atomically returns, with earlier attempts
// undone. It must have no side effects except overwriting variables.
// Options.BeforeCreate runs within each Create of fn, so it holds the write
// lock. An Atomically or Once inside fn joins the outer one: if it fails, the
// whole Update fails.
//
// fn must use only the Service that it receives, and the ones that In of packages
// selling, metering and webhook return for it. A call of any other Service on the
// same store is not a part of the Update: in a store in memory or in SQLite, a
// change waits for the end of fn, and so until its context ends; in PostgreSQL, it
// is made, and stays if fn fails.
func (s *Service) Atomically(ctx context.Context, fn func(*Service) error) error {
	if s.c.Tx != nil {
		err := fn(s)
		s.c.Tx.Fail(err)
		return err
	}
	return s.c.Begin(ctx, func(tx *call.Tx) error {
		in := *s
		in.c.Tx = tx
		return fn(&in)
	})
}
