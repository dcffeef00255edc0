package license

import (
	"context"
	"fmt"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/entries"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/feed"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/licenses"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/link"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/meters"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/plans"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/purchases"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/refusals"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/revocations"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/seats"
)

const (
	noticesEvery = time.Minute
	termsEvery   = 30 * time.Second
)

// Background returns the background work of the rules, which Handler.Run does: it
// appends expiry notices and events about usage of meters, stores traffic and refusals, and
// counts sales. It removes expired usage,
// refusals, replies of [Service.Once] and entries about license files, and the
// activations of deleted licenses, and shortens the leases that interrupted changes have
// left.
func (s internals) Background() feed.Background {
	return feed.Background{
		Tasks: func(r *feed.Run) []feed.Task {
			return []feed.Task{
				{Name: "expiry_notices", Step: func(context.Context) (feed.Next, error) {
					more, err := s.notices().GiveNotices(r.Work)
					if more {
						return feed.In(0), err
					}
					return feed.In(noticesEvery), err
				}},
				{Name: "license_terms", Step: func(context.Context) (feed.Next, error) {
					more, err := s.licenses().ApplyDue(r.Work)
					if more {
						return feed.In(0), err
					}
					return feed.In(termsEvery), err
				}},
				{Name: "addresses", Step: func(context.Context) (feed.Next, error) {
					more, err := s.licenses().FillAddresses(r.Work)
					if more {
						return feed.In(0), err
					}
					return feed.In(noticesEvery), err
				}},
				s.meters().TellTask(r),
				s.refusals().FlushTask(r),
				s.Sales().CountTask(r),
			}
		},
		Upkeep:  []func(context.Context) (bool, error){s.purge, s.leave().ClearDeleted, s.licenses().CutLongLeases},
		Drain:   s.refusals().DrainUsage,
		Needs:   s.Sales().Needs,
		Running: s.notices().NoticesRun,
	}
}

// purge removes a batch of expired replies of Once, entries about license files, links,
// refusals and usage, and reports whether there may be more.
func (s *Service) purge(ctx context.Context) (more bool, err error) {
	if more, err = entries.Purge(ctx, s.c.Store, s.c.Now(), call.OnceKind, seats.SpentKind, revocations.FilesKind, revocations.Kind, refusals.RefusalKind, refusals.UsageKind, purchases.PurchaseKind, purchases.PurchaseOfCustomerKind, plans.PurchaseOfPlanKind, meters.CountedKind, link.LinkKind, link.CodeKind, licenses.ChangedAddressKind); err != nil {
		return false, fmt.Errorf("purge: %w", err)
	}
	return more, nil
}
