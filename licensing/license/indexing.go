package license

import (
	"context"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/catalog"
	"github.com/seed-d8a106b4/licensekit/store"
)

// An Indexing says that an answer lacks recent changes, because the index that it
// was read from has not caught up with the event feed. Handler.Run keeps the
// index up to date, and each query first catches up for a short time. The index
// lags only after a large import, after a new version of this module has changed
// it, or if the store cannot be written. Inside [Service.Atomically] it does not
// catch up.
type Indexing struct {
	Percent int  // how much is indexed, from 0 to 99
	Blocked bool // the index cannot be written, for instance because the store is read-only
}

// indexing returns how far an answer lags, and logs why the index is blocked.
func (s *Service) indexing(ctx context.Context, lag *catalog.Lag) *Indexing {
	if lag == nil {
		return nil
	}
	if lag.Err != nil {
		s.opts.Logger.WarnContext(ctx, "licensing: updating an index failed", "error", lag.Err)
	}
	return &Indexing{Percent: lag.Percent, Blocked: lag.Err != nil}
}

// within returns the running Update, or nil outside Atomically and Once.
func (s *Service) within() store.Reader {
	if s.tx == nil {
		return nil
	}
	return s.tx
}

// cleanIndex removes from the index what no license contains any more. Inside
// Atomically or Once it does nothing.
func (s *Service) cleanIndex(ctx context.Context) error {
	if s.tx != nil {
		return nil
	}
	return s.catalog.Clean(ctx)
}
