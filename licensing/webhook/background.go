package webhook

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/feed"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/outbox"
	"github.com/seed-d8a106b4/licensekit/store"
)

// Background returns the background work of webhooks, which Handler.Run does:
// it creates deliveries, sends them, and removes old ones.
func (s *Service) Background() feed.Background {
	return feed.Background{
		Tasks:   s.tasks,
		Upkeep:  []func(context.Context) (bool, error){s.purge},
		Needs:   s.needs,
		Lag:     s.lag,
		Stopped: s.sender.closeIdle,
	}
}

// A run sends deliveries during one call of Handler.Run.
type run struct {
	*Service
	*feed.Run

	dispatchBell *feed.Bell
	rings        int64 // of the Service, as of the last dispatch

	begins map[string]int64 // for handOn: results of creation by webhook ID

	mu    sync.Mutex
	lanes map[string]*lane // by webhook ID
}

func (s *Service) newRun(r *feed.Run) *run {
	return &run{Service: s, Run: r, dispatchBell: r.NewBell(), lanes: make(map[string]*lane)}
}

func (s *Service) tasks(r *feed.Run) []feed.Task {
	sending := s.newRun(r)
	s.bells.add(r.Work, sending.dispatchBell)
	return []feed.Task{
		{Bell: r.NewBell(), Feed: true, Step: func(context.Context) (feed.Next, error) { return sending.handOn() }},
		{Bell: sending.dispatchBell, Step: sending.dispatch},
	}
}

// bells are the bells of the runs that send deliveries.
type bells struct {
	rings atomic.Int64
	mu    sync.Mutex
	all   map[*feed.Bell]struct{}
}

// add adds a bell until ctx ends.
func (b *bells) add(ctx context.Context, bell *feed.Bell) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.all == nil {
		b.all = make(map[*feed.Bell]struct{})
	}
	b.all[bell] = struct{}{}
	context.AfterFunc(ctx, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.all, bell)
	})
}

// ring wakes the runs in this process because there may be new deliveries that
// no event announces.
func (b *bells) ring() {
	b.rings.Add(1)
	b.mu.Lock()
	defer b.mu.Unlock()
	for bell := range b.all {
		bell.Ring()
	}
}

// lag reports whether events wait for webhooks, or deliveries to active
// webhooks that are not failing are overdue, and since when.
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
		if rec.Status != StatusActive || !rec.FailingSince.IsZero() {
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

// isAhead reports whether a clock that was ahead and has been corrected set
// the time at which a pending delivery is due.
func isAhead(d outbox.Delivery, now time.Time) bool {
	return d.UpdatedAt.After(now.Add(feed.WaitFor)) || d.DueAt.After(now.Add(longestWait))
}

// makeDue makes all pending deliveries to a webhook due now.
func (s *Service) makeDue(ctx context.Context, webhookID string) error {
	for more := true; more; {
		err := s.update(ctx, func(tx *transaction) error {
			waiting, err := outbox.Due(ctx, tx, webhookID, store.TimeRange{From: tx.now.Add(time.Millisecond)}, purgeBatch)
			if err != nil {
				return err
			}
			for i := range waiting {
				waiting[i].DueAt, waiting[i].UpdatedAt = tx.now, tx.now
			}
			more = len(waiting) == purgeBatch
			return outbox.Put(ctx, tx, waiting...)
		})
		if err != nil {
			return err
		}
	}
	return nil
}
