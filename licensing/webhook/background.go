package webhook

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/feed"
	"github.com/seed-d8a106b4/licensekit/store"
)

// Background returns the background work of webhooks, which Handler.Run does:
// it sends events, and removes old deliveries.
func (s internals) Background() feed.Background {
	return feed.Background{
		Tasks:   s.tasks,
		Upkeep:  []func(context.Context) (bool, error){s.purge},
		Needs:   s.needs,
		Lag:     s.lag,
		Stopped: s.sender.closeIdle,
	}
}

func (s *Service) tasks(r *feed.Run) []feed.Task {
	sending := s.newRun(r)
	s.bells.add(r.Work, sending.bell)
	return []feed.Task{
		{Name: "webhooks", Bell: r.NewBell(), Feed: true, Step: sending.share},
		{Name: "webhook_queue", Bell: sending.bell, Step: sending.dispatch},
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

// lag reports whether events wait for webhooks, or work in the lanes of webhooks
// that are not failing is overdue, and since when.
func (s *Service) lag(ctx context.Context, r store.Reader) (waiting bool, since *time.Time, err error) {
	now := s.now()
	some, err := r.Entries(ctx, store.EntryQuery{Kind: webhookKind, Limit: 1})
	if err != nil || len(some) == 0 {
		return false, nil, err
	}
	seq, ok, err := feed.ReadCursor(ctx, r, cursorKey)
	if err == nil && ok {
		waiting, err = feed.IsWaiting(ctx, r, seq, now)
	}
	if err != nil {
		return false, nil, err
	}
	overdue, err := r.Entries(ctx, store.EntryQuery{
		Kind: laneKind, Order: store.ByExpiry, Expires: store.TimeRange{Before: now.Add(-feed.WaitFor)}, Limit: store.MaxLimit,
	})
	if err != nil || len(overdue) == 0 {
		return waiting, nil, err
	}
	keys := make([]string, len(overdue))
	for i, e := range overdue {
		keys[i] = e.Key
	}
	webhooks, err := r.Entries(ctx, store.EntryQuery{Kind: webhookKind, Keys: keys})
	if err != nil {
		return false, nil, err
	}
	failing := make(map[string]bool)
	for _, e := range webhooks {
		rec, err := readWebhookEntry(e)
		if err != nil {
			return false, nil, err
		}
		failing[rec.ID] = !rec.FailingSince.IsZero()
	}
	for i, e := range overdue {
		if !failing[e.Key] {
			return true, &overdue[i].ExpiresAt, nil
		}
	}
	return waiting, nil, nil
}
