package webhook

import (
	"context"
	"sync"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/feed"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/outbox"
	"github.com/seed-d8a106b4/licensekit/store"
)

// Background returns the background work of webhooks, which Handler.Run does:
// it creates deliveries, sends them, and removes old ones.
func (s *Service) Background() feed.Background {
	return feed.Background{
		Tasks:     s.tasks,
		Upkeep:    []func(context.Context) (bool, error){s.purge},
		Needs:     s.needs,
		Lag:       s.lag,
		ClockBack: s.makeDeliveriesDue,
		Stopped:   s.sender.closeIdle,
	}
}

// A run sends deliveries during one call of Handler.Run.
type run struct {
	*Service
	*feed.Run

	dispatchBell feed.Bell

	begins map[string]int64 // for handOn: results of creation by webhook ID

	mu    sync.Mutex
	lanes map[string]*lane // by webhook ID
}

func (s *Service) newRun(r *feed.Run) *run {
	return &run{Service: s, Run: r, dispatchBell: feed.NewBell(), lanes: make(map[string]*lane)}
}

func (s *Service) tasks(r *feed.Run) []feed.Task {
	sending := s.newRun(r)
	return []feed.Task{
		{Bell: feed.NewBell(), Feed: true, Usual: r.PollInterval, Step: func(context.Context) (time.Duration, error) { return sending.handOn() }},
		{Bell: sending.dispatchBell, Usual: r.PollInterval, Step: func(ctx context.Context) (time.Duration, error) { return r.PollInterval, sending.dispatch(ctx) }},
	}
}

// lag reports whether events wait for webhooks, or deliveries to active
// webhooks are overdue, and since when.
func (s *Service) lag(ctx context.Context, r store.Reader) (waiting bool, since *time.Time, err error) {
	now := s.now()
	all, err := readAll(ctx, r)
	if err != nil || len(all) == 0 {
		return false, nil, err
	}
	seq, ok, err := feed.ReadCursor(ctx, r, cursorKey)
	if err == nil && ok {
		waiting, err = feed.IsWaiting(ctx, r, seq, now)
	}
	if err != nil {
		return false, nil, err
	}
	for _, rec := range all {
		if rec.Status != StatusActive {
			continue
		}
		due, err := outbox.Due(ctx, r, rec.ID, store.TimeRange{Before: now.Add(-feed.WaitFor)}, 1)
		if err != nil {
			return false, nil, err
		}
		if len(due) > 0 && (since == nil || due[0].DueAt.Before(*since)) {
			waiting, since = true, &due[0].DueAt
		}
	}
	return waiting, since, nil
}

// makeDeliveriesDue makes all pending deliveries due now.
func (s *Service) makeDeliveriesDue(ctx context.Context) error {
	all, err := readAll(ctx, s.reader())
	if err != nil {
		return err
	}
	for _, rec := range all {
		for more := true; more; {
			err := s.update(ctx, func(tx *transaction) error {
				waiting, err := outbox.Due(ctx, tx, rec.ID, store.TimeRange{From: tx.now.Add(time.Millisecond)}, purgeBatch)
				if err != nil {
					return err
				}
				for i := range waiting {
					waiting[i].DueAt = tx.now
				}
				more = len(waiting) == purgeBatch
				return outbox.Put(ctx, tx, waiting...)
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}
