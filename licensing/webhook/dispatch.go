package webhook

import (
	"context"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/feed"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/outbox"
)

// scanEvery returns how often dispatch looks for due deliveries that nothing
// in this process announces, such as the ones that another process resends or has
// claimed and not sent.
func (r *run) scanEvery() time.Duration {
	return max(r.PollInterval, min(10*r.PollInterval, 10*time.Second))
}

// dispatch starts the lanes of webhooks with due deliveries. It does not wait
// for them. It returns when the next delivery is due.
func (r *run) dispatch(ctx context.Context) (feed.Next, error) {
	next := r.scanEvery()
	if rings := r.bells.rings.Load(); rings != r.rings {
		r.rings, next = rings, r.PollInterval // what rang may not be committed yet
	}
	webhooks, err := r.List(r.Work)
	if err != nil {
		return feed.Next{}, err
	}
	if len(webhooks) > 0 && !r.box().Seals() {
		r.warnOnce.Do(func() {
			r.logger.WarnContext(ctx, "licensing: webhook secrets are stored in plain text; set Options.MasterKey to encrypt them")
		})
	}
	for _, w := range webhooks {
		if w.Status != StatusActive {
			continue
		}
		wait, err := r.dispatchTo(ctx, r.lane(w.ID))
		if err != nil {
			return feed.Next{}, err
		}
		next = min(next, wait)
	}
	return feed.In(next), nil
}

// dispatchTo starts a lane if a delivery is due. It returns when to look
// again.
func (r *run) dispatchTo(ctx context.Context, l *lane) (wait time.Duration, err error) {
	far, now := r.scanEvery(), r.now()
	if !l.enter() {
		return far, nil // it rings when it leaves
	}
	if wait := l.breaker.closesIn(now); wait > 0 {
		l.leave()
		return wait, nil
	}
	first, err := outbox.Pending(r.Work, r.store(), l.webhookID, outbox.Delivery{}, 1)
	if err == nil && len(first) > 0 && isAhead(first[0], now) {
		err = r.makeDue(r.Work, l.webhookID)
		first[0].DueAt = now
	}
	if err != nil || len(first) == 0 || first[0].DueAt.After(now) {
		l.leave()
		if err != nil || len(first) == 0 {
			return far, err
		}
		return first[0].DueAt.Sub(now), nil
	}
	r.Go(func() {
		err := l.drain(ctx)
		l.leave()
		if err != nil && r.Work.Err() == nil {
			r.logger.WarnContext(ctx, "licensing: webhook delivery failed; retrying", "webhook_id", l.webhookID, "error", err)
			feed.Pause(ctx, r.PollInterval)
		}
		r.dispatchBell.Ring()
	})
	return far, nil
}

// lane returns the lane of a webhook.
func (r *run) lane(webhookID string) *lane {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := r.lanes[webhookID]
	if l == nil {
		l = &lane{run: r, webhookID: webhookID}
		r.lanes[webhookID] = l
	}
	return l
}

// dueBefore is the exclusive bound for due deliveries; times are in milliseconds.
func dueBefore(now time.Time) time.Time { return now.Add(time.Millisecond) }
