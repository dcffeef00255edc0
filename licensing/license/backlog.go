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

// A Backlog says whether what is to leave the service leaves it.
type Backlog struct {
	// Running reports whether some process runs Handler.Run on the store,
	// or did within the last minute.
	Running bool
	// Waiting reports whether anything waits for it: events that have not
	// been handed on, or deliveries that were due a minute ago. Those of
	// webhooks that are paused or disabled do not count.
	Waiting bool
	// DueSince is when the longest waiting of these deliveries was due;
	// nil: none is.
	DueSince *time.Time
	// Sealed reports whether the secrets of webhooks are sealed: whether
	// there is an Options.MasterKey.
	Sealed bool
	// Failing are the subscribers that keep failing on one event.
	Failing []FailingSubscriber
}

// runKind is the kind of the one entry that says that something runs.
const runKind = "run"

const (
	runTTL  = time.Minute // how long a sign of life counts
	waitFor = time.Minute // how long a delivery may be due before it waits
)

// MarkRunning says that Handler.Run runs, for the next minute. If it was last
// said at a time that is still to come, the clock was ahead and has been
// corrected: then deliveries that wait for a time to come are due now.
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

// makeDeliveriesDue makes all deliveries due that are not yet.
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

// Backlog says whether anything waits to be delivered, and whether anything
// runs that delivers it.
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

// read finds out what waits.
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

// SubscriberCursor begins the key of the store.KindCursor entry that says how
// far a subscriber of that name has come.
const SubscriberCursor = "subscriber:"
