package license

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/entries"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/core/feed"
	"github.com/seed-d8a106b4/licensekit/store"
)

const noticesEvery = 30 * time.Second

// Background returns the background work of the rules, which Handler.Run does: it
// appends expiry notices and stores usage and refusals. It removes expired usage,
// refusals, replies of [Service.Once] and entries about license files, and the
// activations of deleted licenses, and shortens the leases that interrupted changes have
// left.
func (s internals) Background() feed.Background {
	return feed.Background{
		Tasks: func(r *feed.Run) []feed.Task {
			return []feed.Task{
				{Name: "expiry_notices", Step: func(context.Context) (feed.Next, error) {
					more, err := s.giveNotices(r.Work)
					if more {
						return feed.In(0), err
					}
					return feed.In(noticesEvery), err
				}},
				s.flushTask(r),
			}
		},
		Upkeep:  []func(context.Context) (bool, error){s.purge, s.clearDeleted, s.cutLongLeases},
		Drain:   s.drainUsage,
		Running: s.noticesRun,
	}
}

// purge removes a batch of expired replies of Once, entries about license files,
// refusals and usage, and reports whether there may be more.
func (s *Service) purge(ctx context.Context) (more bool, err error) {
	if more, err = entries.Purge(ctx, s.st, s.now(), onceKind, spentKind, filesKind, revokedKind, refusedKind, refusalKind, usageKind, purchaseKind, purchaseOfCustomerKind); err != nil {
		return false, fmt.Errorf("purge: %w", err)
	}
	return more, nil
}

// noticesRun reports whether expiry notices are given. While Run runs,
// watermarks lag by at most noticeLag. Before the first run, there are none.
func (s *Service) noticesRun(ctx context.Context, r store.Reader) (bool, error) {
	now := s.now()
	e, err := r.Entry(ctx, watermarkKind, watermarkKey(0))
	if errors.Is(err, store.ErrNotFound) {
		overdue, err := feed.IsWaiting(ctx, r, 0, now)
		return !overdue, err
	}
	var w watermark
	if err == nil {
		err = decode(e.Data, &w)
	}
	return err == nil && now.Sub(w.Time) <= noticeLag+10*time.Minute, err
}
