package feed

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

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
	// Failing lists the subscribers that keep failing on one event.
	Failing []FailingSubscriber
}

// runKind is the kind of the single entry that records that Handler.Run is
// running.
const runKind = "run"

const (
	runTTL = time.Minute // how long a heartbeat counts

	// WaitFor is how long work may be due before it counts as overdue.
	WaitFor = time.Minute
)

// beat records that Handler.Run is running; the record counts for one
// minute. If the previous record lies in the future, a clock was ahead and
// has been corrected.
func (e *Engine) beat(ctx context.Context) error {
	run, err := e.Store.Entry(ctx, runKind, runKind)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return fmt.Errorf("mark running: %w", err)
	}
	if err == nil && run.CreatedAt.After(e.now().Add(runTTL)) {
		for _, b := range e.Background {
			if b.ClockBack == nil {
				continue
			}
			if err := b.ClockBack(ctx); err != nil {
				return fmt.Errorf("mark running: %w", err)
			}
		}
	}
	return e.Store.Update(ctx, func(tx store.Tx) error {
		now := e.now()
		return tx.PutEntries(ctx, store.Entry{Kind: runKind, Key: runKind, ExpiresAt: now.Add(runTTL), CreatedAt: now, Move: store.Passing})
	})
}

// Backlog reports whether any event or delivery is overdue, and whether
// Handler.Run is running.
func (e *Engine) Backlog(ctx context.Context) (b Backlog, err error) {
	now := e.now()
	err = e.Store.View(ctx, func(r store.Reader) error {
		b = Backlog{}
		run, err := r.Entry(ctx, runKind, runKind)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		b.Running = err == nil && now.Before(run.ExpiresAt) && !run.CreatedAt.After(now.Add(runTTL))
		if b.Failing, err = failingSubscribers(ctx, r, now); err != nil {
			return err
		}
		if b.Waiting, err = subscribersLag(ctx, r, now); err != nil {
			return err
		}
		for _, background := range e.Background {
			if background.Lag == nil {
				continue
			}
			waiting, since, err := background.Lag(ctx, r)
			if err != nil {
				return err
			}
			b.Waiting = b.Waiting || waiting
			if since != nil && (b.DueSince == nil || since.Before(*b.DueSince)) {
				b.DueSince = since
			}
		}
		return nil
	})
	if err != nil {
		return Backlog{}, fmt.Errorf("backlog: %w", err)
	}
	return b, nil
}

// subscribersLag reports whether an event waits for a subscriber for too long.
func subscribersLag(ctx context.Context, r store.Reader, now time.Time) (bool, error) {
	cursors, err := r.Entries(ctx, store.EntryQuery{Kind: store.KindCursor, From: subscriberCursor, Before: store.PrefixEnd(subscriberCursor)})
	if err != nil {
		return false, err
	}
	for _, c := range cursors {
		seq, err := strconv.ParseInt(string(c.Data), 10, 64)
		if err != nil {
			return false, fmt.Errorf("cursor %s: %w", c.Key, err)
		}
		if waiting, err := IsWaiting(ctx, r, seq, now); waiting || err != nil {
			return waiting, err
		}
	}
	return false, nil
}

// IsWaiting reports whether the first event after a Seq has waited for more
// than [WaitFor].
func IsWaiting(ctx context.Context, r store.Reader, seq int64, now time.Time) (bool, error) {
	next, err := r.Events(ctx, store.EventQuery{After: seq, Limit: 1})
	if err != nil {
		return false, err
	}
	return len(next) > 0 && next[0].Time.Before(now.Add(-WaitFor)), nil
}
