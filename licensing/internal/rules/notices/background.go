package notices

import (
	"context"
	"errors"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/feed"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
	"github.com/seed-d8a106b4/licensekit/store"
)

// NoticesRun reports whether expiry notices are given. While Run runs,
// watermarks lag by at most noticeLag. Before the first run, there are none.
func (s Service) NoticesRun(ctx context.Context, r store.Reader) (bool, error) {
	now := s.Now()
	e, err := r.Entry(ctx, watermarkKind, watermarkKey(0))
	if errors.Is(err, store.ErrNotFound) {
		overdue, err := feed.IsWaiting(ctx, r, 0, now)
		return !overdue, err
	}
	var w watermark
	if err == nil {
		err = call.Decode(e.Data, &w)
	}
	return err == nil && now.Sub(w.Time) <= noticeLag+10*time.Minute, err
}
