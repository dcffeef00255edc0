package feed

import (
	"context"
	"fmt"
	"slices"
	"strings"
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
		// The newest event stays: after a move, the feed of the new store must
		// not fall behind the cursors that move with it.
		old := 0
		for old < len(events)-1 && events[old].Time.Before(before) {
			old++
		}
		if old == 0 {
			return nil
		}
		needed, err := t.firstNeeded(ctx, r, events[old-1].Seq+1, before)
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

// firstNeeded returns the Seq of the first event before bound that a
// consumer still needs. It ignores subscribers of other processes that have not
// run since the given instant.
func (t Retention) firstNeeded(ctx context.Context, r store.Reader, bound int64, since time.Time) (int64, error) {
	cursors, err := r.Entries(ctx, store.EntryQuery{Kind: cursorKind})
	if err != nil {
		return 0, err
	}
	for _, c := range cursors {
		name, ok := strings.CutPrefix(c.Key, subscriberCursor)
		if ok && c.CreatedAt.Before(since) && !slices.ContainsFunc(t.Subscribers, func(s Subscriber) bool { return s.Name == name }) {
			continue
		}
		seq, err := cursorSeq(c)
		if err != nil {
			return 0, err
		}
		bound = min(bound, seq+1)
	}
	for _, needs := range t.Needs {
		if bound, err = needs(ctx, r, bound); err != nil {
			return 0, err
		}
	}
	return bound, nil
}
