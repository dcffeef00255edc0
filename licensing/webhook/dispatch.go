package webhook

import (
	"context"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/outbox"
	"github.com/seed-d8a106b4/licensekit/store"
)

// dispatch starts the lanes of webhooks with due deliveries. It does not wait for
// them.
func (r *run) dispatch(ctx context.Context) error {
	webhooks, err := r.List(r.Work)
	if err != nil {
		return err
	}
	if len(webhooks) > 0 && r.masterKey() == nil {
		r.warnOnce.Do(func() {
			r.logger.WarnContext(ctx, "licensing: webhook secrets are stored in plain text; set Options.MasterKey to encrypt them")
		})
	}
	for _, w := range webhooks {
		l := r.lane(w.ID)
		if w.Status != StatusActive || !l.enter(r.now()) {
			continue
		}
		due, err := outbox.Due(r.Work, r.store(), w.ID, store.TimeRange{Before: dueBefore(r.now())}, 1)
		if err != nil || len(due) == 0 {
			l.leave()
			if err != nil {
				return err
			}
			continue
		}
		r.Go(func() {
			defer l.leave()
			if err := l.drain(ctx); err != nil && r.Work.Err() == nil {
				r.logger.WarnContext(ctx, "licensing: webhook delivery failed; retrying", "webhook_id", l.webhookID, "error", err)
			}
		})
	}
	return nil
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
