package license

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/outbox"
	"github.com/seed-d8a106b4/licensekit/store"
)

// A Backlog reports whether events and deliveries leave the service on time.
type Backlog struct {
	// Running reports whether some process runs Handler.Run on the store,
	// or did within the last minute.
	Running bool
	// Waiting reports whether any work is overdue: events not yet handed to
	// webhooks or subscribers, or deliveries due for more than a minute.
	// Paused and disabled webhooks do not count.
	Waiting bool
	// DueSince is when the oldest overdue delivery was due; nil if there is
	// none.
	DueSince *time.Time
	// Sealed reports whether webhook secrets are encrypted, which requires
	// Options.MasterKey.
	Sealed bool
	// Failing lists the subscribers that keep failing on one event.
	Failing []FailingSubscriber
}

// runKind is the kind of the single entry that records that Handler.Run is
// running.
const runKind = "run"

const (
	runTTL  = time.Minute // how long a heartbeat counts
	waitFor = time.Minute // how long a delivery may be due before it counts as overdue
)

// MarkRunning records that Handler.Run is running; the record counts for one
// minute. If the previous record lies in the future, a clock was ahead and
// has been corrected: all pending deliveries become due now.
func (s *Service) MarkRunning(ctx context.Context) error {
	run, err := s.reader().Entry(ctx, runKind, runKind)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return fmt.Errorf("mark running: %w", err)
	}
	if err == nil && run.CreatedAt.After(s.now().Add(runTTL)) {
		if err := s.makeDeliveriesDue(ctx); err != nil {
			return fmt.Errorf("mark running: %w", err)
		}
	}
	return s.update(ctx, func(tx *transaction) error {
		return tx.PutEntries(ctx, store.Entry{Kind: runKind, Key: runKind, ExpiresAt: tx.now.Add(runTTL), CreatedAt: tx.now, Move: store.Passing})
	})
}

// makeDeliveriesDue makes all pending deliveries due now.
func (s *Service) makeDeliveriesDue(ctx context.Context) error {
	webhooks, err := s.reader().Entries(ctx, store.EntryQuery{Kind: webhookKind})
	if err != nil {
		return err
	}
	for _, w := range webhooks {
		for more := true; more; {
			err := s.update(ctx, func(tx *transaction) error {
				waiting, err := outbox.Due(ctx, tx, w.Key, store.TimeRange{From: tx.now.Add(time.Millisecond)}, purgeBatch)
				if err != nil {
					return err
				}
				for _, d := range waiting {
					d.DueAt = tx.now
					if err := outbox.Put(ctx, tx, d); err != nil {
						return err
					}
				}
				more = len(waiting) == purgeBatch
				return nil
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// Backlog reports whether any event or delivery is overdue, and whether
// Handler.Run is running.
func (s *Service) Backlog(ctx context.Context) (b Backlog, err error) {
	now := s.now()
	b.Sealed = s.opts.MasterKey != nil
	err = s.view(ctx, func(r store.Reader) error {
		run, err := r.Entry(ctx, runKind, runKind)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		b.Running = err == nil && now.Before(run.ExpiresAt) && !run.CreatedAt.After(now.Add(runTTL))
		if b.Failing, err = failingSubscribers(ctx, r, now); err != nil {
			return err
		}
		return b.read(ctx, r, now)
	})
	if err != nil {
		return Backlog{}, fmt.Errorf("backlog: %w", err)
	}
	return b, nil
}

// read fills in Waiting and DueSince.
func (b *Backlog) read(ctx context.Context, r store.Reader, now time.Time) error {
	cursors, err := r.Entries(ctx, store.EntryQuery{Kind: store.KindCursor})
	if err != nil {
		return err
	}
	webhooks, err := r.Entries(ctx, store.EntryQuery{Kind: webhookKind})
	if err != nil {
		return err
	}
	for _, c := range cursors {
		if c.Key != WebhookCursor && !strings.HasPrefix(c.Key, SubscriberCursor) || c.Key == WebhookCursor && len(webhooks) == 0 {
			continue
		}
		seq, err := strconv.ParseInt(string(c.Data), 10, 64)
		if err != nil {
			return fmt.Errorf("cursor %s: %w", c.Key, err)
		}
		next, err := r.Events(ctx, store.EventQuery{After: seq, Limit: 1})
		if err != nil {
			return err
		}
		b.Waiting = b.Waiting || len(next) > 0 && next[0].Time.Before(now.Add(-waitFor))
	}
	for _, e := range webhooks {
		var rec webhookRecord
		if err := decode(e.Data, &rec); err != nil {
			return fmt.Errorf("webhook %s: %w", e.Key, err)
		}
		if rec.Status != WebhookActive {
			continue
		}
		due, err := outbox.Due(ctx, r, e.Key, store.TimeRange{Before: now.Add(-waitFor)}, 1)
		if err != nil {
			return err
		}
		if len(due) > 0 && (b.DueSince == nil || due[0].DueAt.Before(*b.DueSince)) {
			b.Waiting, b.DueSince = true, &due[0].DueAt
		}
	}
	return nil
}

// SubscriberCursor is the key prefix of the store.KindCursor entries that
// hold the feed positions of subscribers.
const SubscriberCursor = "subscriber:"
