package webhook

import (
	"context"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/feed"
	"github.com/seed-d8a106b4/licensekit/store"
)

// Background returns the background work of webhooks, which Handler.Run does:
// it sends events, and removes old deliveries.
func (s internals) Background() feed.Background {
	return feed.Background{
		Tasks:  s.tasks,
		Upkeep: []func(context.Context) (bool, error){s.purge},
		Needs:  s.needs,
		Lag:    s.lag,
		Ahead:  s.aheadOf,
		Drain:  func(context.Context) { s.sender.client.CloseIdleConnections() },
	}
}

func (s *Service) tasks(r *feed.Run) []feed.Task {
	sending := s.newRun(r)
	return []feed.Task{{Name: "webhooks", Bell: sending.bell, Feed: true, Step: sending.step}}
}

// aheadOf returns the webhooks whose stored position is above newest, the Seq of the
// newest event.
func (s *Service) aheadOf(ctx context.Context, r store.Reader, newest int64) (all []feed.Ahead, err error) {
	cursors, err := readCursors(ctx, r)
	for _, id := range slices.Sorted(maps.Keys(cursors)) {
		if position := cursors[id].Position; position > newest {
			all = append(all, feed.Ahead{Name: id, Position: position})
		}
	}
	return all, err
}

// lag reports whether events or deliveries wait for an active webhook that is not
// failing and that nothing has been stored about for a while, and since when a
// delivery has been due.
func (s *Service) lag(ctx context.Context, r store.Reader) (waiting bool, since *time.Time, err error) {
	hooks, cursors, err := activeCursors(ctx, r)
	if err != nil {
		return false, nil, err
	}
	now := s.now()
	before, position := now.Add(-feed.WaitFor), int64(math.MaxInt64)
	for i, cursor := range cursors {
		if !hooks[i].FailingSince.IsZero() || cursor.UpdatedAt.After(before) {
			continue
		}
		position = min(position, cursor.Position)
		if due := cursor.Due; !due.IsZero() && due.Before(before) && (since == nil || due.Before(*since)) {
			since = &due
		}
	}
	if position < math.MaxInt64 && since == nil {
		waiting, err = feed.IsWaiting(ctx, r, position, now)
	}
	return waiting || since != nil, since, err
}
