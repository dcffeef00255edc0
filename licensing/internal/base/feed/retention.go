package feed

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

// purgeBatch is how many events one Update removes.
const purgeBatch = 100

// A Retention removes old events that no consumer needs.
type Retention struct {
	Store store.Store
	Now   func() time.Time
	Keep  time.Duration // how long events are kept; zero: forever

	// Subscribers are those of this process. They may not have started to run.
	Subscribers []Subscriber
	Needs       []Needs
}

// Needs returns the Seq of the first event before bound that a consumer needs
// beside those after its cursor, or bound.
type Needs func(ctx context.Context, r store.Reader, bound int64) (int64, error)

// Purge removes a batch of events and reports whether more may be left.
func (t Retention) Purge(ctx context.Context) (more bool, err error) {
	through, err := t.lastUnneeded(ctx)
	if err != nil {
		return false, fmt.Errorf("purge events: %w", err)
	}
	if through.Seq == 0 {
		return false, nil
	}
	var n int
	err = t.Store.Update(ctx, func(tx store.Tx) (err error) {
		n, err = purgeEvents(ctx, tx, through, stored(t.Now()))
		return err
	})
	if err != nil {
		return false, fmt.Errorf("purge events: %w", err)
	}
	return n > 0, nil
}

// lastUnneeded returns the last of the oldest events that are past retention
// and that every consumer has received; its Seq is zero if there is none. It
// may read many deliveries, so it does not hold the write lock. That is
// safe: an event no longer needed never becomes needed again.
func (t Retention) lastUnneeded(ctx context.Context) (last store.Event, err error) {
	if t.Keep <= 0 {
		return store.Event{}, nil
	}
	before := stored(t.Now()).Add(-t.Keep)
	err = t.Store.View(ctx, func(r store.Reader) error {
		last = store.Event{}
		events, err := r.Events(ctx, store.EventQuery{Limit: purgeBatch + 1})
		if err != nil {
			return err
		}
		old, err := t.countOld(ctx, r, events, before)
		if err != nil || old == 0 {
			return err
		}
		needed, err := t.firstNeeded(ctx, r, events[0].Seq, events[old-1].Seq+1, before)
		if err != nil {
			return err
		}
		for _, e := range events[:old] {
			if e.Seq < needed {
				last = e
			}
		}
		return nil
	})
	return last, err
}

// countOld returns how many of the oldest events of the feed were written before an
// instant, the last one excepted: the newest event stays, because after a move, the feed
// of the new store must not fall behind the cursors that move with it. An event of the
// future was written while a clock was ahead. It is as old as the next one.
func (t Retention) countOld(ctx context.Context, r store.Reader, events []store.Event, before time.Time) (old int, err error) {
	most, now := len(events)-1, t.Now()
	for i, e := range events {
		if e.Time.Before(before) {
			old = min(i+1, most)
		} else if !e.Time.After(now) {
			return old, nil
		}
	}
	if old == most || most < purgeBatch {
		return old, nil
	}
	next, found, err := afterFuture(ctx, r, events[most].Seq, now)
	if found && next.Time.Before(before) {
		old = most
	}
	return old, err
}

// afterFuture returns the first event after those of the future that follow a Seq, if
// there is one. It halves the rest of the feed until it has found that event, because
// a clock may have been ahead for many of them.
func afterFuture(ctx context.Context, r store.Reader, seq int64, now time.Time) (next store.Event, found bool, err error) {
	newest, err := Newest(ctx, r)
	for end := newest.seq; err == nil && seq < end; {
		middle := seq + (end-seq)/2
		var events []store.Event
		events, err = r.Events(ctx, store.EventQuery{After: middle, Limit: 1})
		switch {
		case len(events) == 0:
			return next, found, err
		case events[0].Time.After(now):
			seq = events[0].Seq
		default:
			next, found, end = events[0], true, middle
		}
	}
	return next, found, err
}

// firstNeeded returns the Seq of the first event from first on and before bound that a
// consumer still needs, or for which there is a dead letter. It ignores the positions of
// subscribers of other processes that have not run since the given instant.
func (t Retention) firstNeeded(ctx context.Context, r store.Reader, first, bound int64, since time.Time) (int64, error) {
	subscribers, err := readSubscribers(ctx, r)
	if err != nil {
		return 0, err
	}
	for _, rec := range subscribers {
		letters, err := lettersOf(ctx, r, rec.Name, first, 1)
		if err != nil {
			return 0, err
		}
		for _, d := range letters {
			bound = min(bound, d.Seq)
		}
		if rec.WrittenAt.Before(since) && !slices.ContainsFunc(t.Subscribers, func(s Subscriber) bool { return s.Name == rec.Name }) {
			continue
		}
		bound = min(bound, rec.Seq+1)
	}
	for _, needs := range t.Needs {
		if bound, err = needs(ctx, r, bound); err != nil {
			return 0, err
		}
	}
	return bound, nil
}
