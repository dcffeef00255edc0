package webhook

import (
	"context"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/feed"
	"github.com/seed-d8a106b4/licensekit/store"
)

// scanEvery returns how often dispatch looks for due work that nothing in this
// process announces, such as a delivery that another process resends.
func (r *run) scanEvery() time.Duration {
	return max(r.PollInterval, min(10*r.PollInterval, 10*time.Second))
}

// dispatch starts the lanes that have due work. It does not wait for them. It
// returns when the next work is due.
func (r *run) dispatch(ctx context.Context) (feed.Next, error) {
	next := r.scanEvery()
	if rings := r.bells.rings.Load(); rings != r.rings {
		r.rings, next = rings, r.PollInterval // what rang may not be committed yet
	}
	entries, err := r.store().Entries(r.Work, store.EntryQuery{Kind: laneKind, Order: store.ByExpiry, Limit: store.MaxLimit})
	if err != nil {
		return feed.Next{}, err
	}
	now := r.now()
	r.refreshing.Lock()
	first := !r.took || now.Before(r.clock.Add(-feed.WaitFor))
	r.refreshing.Unlock()
	var due []string
	for _, e := range entries {
		if e.ExpiresAt.After(now) {
			next = min(next, e.ExpiresAt.Sub(now))
			break
		}
		due = append(due, e.Key)
	}
	if len(due) == 0 && first && len(entries) == 0 { // an earlier version stored no lanes
		entries, err = r.store().Entries(r.Work, store.EntryQuery{Kind: webhookKind, Limit: 1})
		if err != nil {
			return feed.Next{}, err
		}
	}
	if len(due) == 0 && (!first || len(entries) == 0) {
		return feed.In(next), nil
	}
	held, wait, err := r.hold()
	if err != nil || !held {
		return feed.In(min(next, wait)), err
	}
	if err := r.refresh(ctx); err != nil {
		return feed.Next{}, err
	}
	r.mu.Lock()
	for id := range r.try {
		due = append(due, id)
	}
	clear(r.try)
	r.mu.Unlock()
	for _, id := range due {
		wait, ok := r.start(ctx, id)
		if !ok {
			break // a lane that ends rings
		}
		next = min(next, wait)
	}
	return feed.In(next), nil
}

// start starts a lane unless it is running. It returns when to look again, and
// false if as many lanes as may run are running.
func (r *run) start(ctx context.Context, webhookID string) (wait time.Duration, ok bool) {
	wait = r.scanEvery()
	l := r.find(webhookID)
	if l == nil || !l.tryEnter() {
		return wait, true // it rings when it leaves
	}
	if open := l.breaker.closesIn(r.now()); open > 0 {
		l.leave()
		return open, true
	}
	select {
	case r.single <- struct{}{}:
	default:
		l.leave()
		return wait, false
	}
	r.Go(func() {
		err := l.drain(ctx)
		l.leave()
		<-r.single
		if err != nil && r.Work.Err() == nil {
			r.logger.WarnContext(ctx, "licensing: webhook delivery failed; retrying", "webhook_id", l.webhookID, "error", err)
			r.ObserveStoreError(ctx, sendJob, err)
			feed.Pause(ctx, r.PollInterval)
		}
		r.bell.Ring()
	})
	return wait, true
}

// dueBefore is the exclusive bound for due deliveries; times are in milliseconds.
func dueBefore(now time.Time) time.Time { return now.Add(time.Millisecond) }
