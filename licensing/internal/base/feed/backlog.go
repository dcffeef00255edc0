package feed

import (
	"context"
	"fmt"
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
	// Lags has each subscriber that has a stored position, in any process.
	Lags []Lag
	// Ahead lists the stored positions above Newest, the Seq of the newest event.
	Ahead  []Ahead
	Newest int64
}

// An Ahead is a consumer whose stored position is above the newest event: the feed has
// lost events without it.
type Ahead struct {
	Name     string // of the subscriber, or the ID of the webhook
	Position int64
}

// A Lag is how far a subscriber is behind the feed.
type Lag struct {
	Name   string
	Events int64      // how many events it has not received, including those of other types
	Since  *time.Time // when the first of them was written; nil: none
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

// WaitFor is how long work may be due before it counts as overdue.
const WaitFor = time.Minute

// Backlog reports whether background work is overdue.
func (e *Engine) Backlog(ctx context.Context) (b Backlog, err error) {
	now := e.now()
	err = e.Store.View(ctx, func(r store.Reader) error {
		b = Backlog{Running: true}
		newest, err := Newest(ctx, r)
		if err != nil {
			return err
		}
		b.Newest = newest.seq
		if err := e.addSubscribers(ctx, r, &b, newest.seq, now); err != nil {
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
			if background.Ahead != nil {
				ahead, err := background.Ahead(ctx, r, newest.seq)
				if err != nil {
					return err
				}
				b.Ahead = append(b.Ahead, ahead...)
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

// addSubscribers adds to b how far the subscribers are behind, and which of them fail.
// Those of this process that do not fail must not be late.
func (e *Engine) addSubscribers(ctx context.Context, r store.Reader, b *Backlog, newest int64, now time.Time) error {
	all, err := readSubscribers(ctx, r)
	if err != nil {
		return err
	}
	late := make(map[string]bool)
	for _, s := range all {
		next, err := r.Events(ctx, store.EventQuery{After: s.Seq, Limit: 1})
		if err != nil {
			return err
		}
		lag := Lag{Name: s.Name}
		if len(next) > 0 {
			lag.Events, lag.Since = newest-s.Seq, &next[0].Time
		}
		b.Lags = append(b.Lags, lag)
		if s.Seq > newest {
			b.Ahead = append(b.Ahead, Ahead{s.Name, s.Seq})
		}
		failing := s.Failures >= stalledAfter && now.Sub(s.WrittenAt) < failingFor
		if failing {
			b.Failing = append(b.Failing, FailingSubscriber{s.Name, s.Event, s.Failures, s.Since, s.Error})
		}
		late[s.Name] = !failing && lag.Since != nil && lag.Since.Before(now.Add(-WaitFor))
	}
	for _, s := range e.Subscribers {
		isLate, stored := late[s.Name]
		if !stored { // Run has never run it; it starts where retention ends
			purged, err := PurgedThrough(ctx, r)
			if err != nil {
				return err
			}
			if isLate, err = IsWaiting(ctx, r, purged, now); err != nil {
				return err
			}
		}
		b.Waiting = b.Waiting || isLate
	}
	return nil
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
