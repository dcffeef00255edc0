package feed

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

// A Backlog reports whether background work is done on time.
type Backlog struct {
	// Running is false if the work that follows the clock, expiry notices, is
	// overdue: no process has run Handler.Run for more than an hour, or
	// ever.
	Running bool
	// Waiting reports whether any work has been overdue for more than a
	// minute: events not yet handed to webhooks or subscribers, or
	// deliveries. Webhooks that are failing, paused or disabled and the
	// subscribers in Failing do not count.
	Waiting bool
	// DueSince is when the oldest overdue delivery was due; nil if there is
	// none.
	DueSince *time.Time
	// Failing lists the subscribers that keep failing on one event.
	Failing []FailingSubscriber
}

// A FailingSubscriber is a subscriber that keeps failing on one event while
// later events wait.
type FailingSubscriber struct {
	Name     string
	EventID  string
	Failures int // in a row
	Since    time.Time
	Error    string // of the last failure, cut to maxError bytes
}

// failingFor is how long a failure counts if no process runs the subscriber any more.
// It is longer than the longest pause between two attempts.
const failingFor = time.Hour

// failingSubscribers returns the subscribers that keep failing.
func failingSubscribers(all []subscriberRecord, now time.Time) (failing []FailingSubscriber) {
	for _, s := range all {
		if s.Failures >= stalledAfter && now.Sub(s.WrittenAt) < failingFor {
			failing = append(failing, FailingSubscriber{s.Name, s.Event, s.Failures, s.Since, s.Error})
		}
	}
	return failing
}

// WaitFor is how long work may be due before it counts as overdue.
const WaitFor = time.Minute

// Backlog reports whether background work is overdue.
func (e *Engine) Backlog(ctx context.Context) (b Backlog, err error) {
	now := e.now()
	err = e.Store.View(ctx, func(r store.Reader) error {
		b = Backlog{Running: true}
		subscribers, err := readSubscribers(ctx, r)
		if err != nil {
			return err
		}
		b.Failing = failingSubscribers(subscribers, now)
		if b.Waiting, err = e.subscribersLag(ctx, r, subscribers, b.Failing, now); err != nil {
			return err
		}
		for _, background := range e.Background {
			if background.Running != nil {
				running, err := background.Running(ctx, r)
				if err != nil {
					return err
				}
				b.Running = b.Running && running
			}
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

// subscribersLag reports whether an event has waited too long for a subscriber
// that is not failing.
func (e *Engine) subscribersLag(ctx context.Context, r store.Reader, stored []subscriberRecord, failing []FailingSubscriber, now time.Time) (bool, error) {
	for _, s := range e.Subscribers {
		if slices.ContainsFunc(failing, func(f FailingSubscriber) bool { return f.Name == s.Name }) {
			continue
		}
		var seq int64
		var err error
		if i := slices.IndexFunc(stored, func(rec subscriberRecord) bool { return rec.Name == s.Name }); i >= 0 {
			seq = stored[i].Seq
		} else if seq, err = PurgedThrough(ctx, r); err != nil { // Run has never run it; it starts where retention ends
			return false, err
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
