package license

import (
	"context"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/feed"
)

const (
	noticesEvery = 20 * time.Second
	indexEvery   = 20 * time.Second
	indexDelay   = 500 * time.Millisecond // to index the events of this time together
)

// Background returns the background work of the rules, which Handler.Run
// does: it appends expiry notices, keeps the indexes near the end of the feed,
// so that requests rarely have to catch up, and removes expired replies of
// [Service.Once] and the activations of deleted licenses.
func (s *Service) Background() feed.Background {
	return feed.Background{
		Tasks: func(r *feed.Run) []feed.Task {
			return []feed.Task{
				{Usual: noticesEvery, Step: func(context.Context) (time.Duration, error) {
					more, err := s.giveNotices(r.Work)
					if more {
						return 0, err
					}
					return noticesEvery, err
				}},
				{Bell: feed.NewBell(), Feed: true, Usual: indexEvery, Step: func(ctx context.Context) (time.Duration, error) {
					feed.Pause(ctx, nil, indexDelay)
					if err := s.index(ctx); ctx.Err() == nil {
						return indexEvery, err
					}
					return indexEvery, nil
				}},
			}
		},
		Upkeep: []func(context.Context) (bool, error){s.purge, s.clearDeleted},
	}
}
