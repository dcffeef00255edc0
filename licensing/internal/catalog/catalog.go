package catalog

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

// A Catalog keeps the index of one store. It is safe for concurrent use.
type Catalog struct {
	Recent *Recent // the changes that this process commits

	st     store.Store
	purged func(context.Context, store.Reader) (int64, error)
	busy   chan struct{} // one catch-up at a time
	next   size          // of the next batch; guarded by busy
}

// version is that of the index. Increase it when the terms of licenses or the form
// of the entries changes.
const version = 1

// budget is how long a request may catch up before it answers.
const budget = 50 * time.Millisecond

// New returns the Catalog of a store. The function purged returns the Seq of the
// last event that retention has removed. New does no I/O.
func New(st store.Store, purged func(context.Context, store.Reader) (int64, error)) *Catalog {
	return &Catalog{Recent: new(Recent), st: st, purged: purged, busy: make(chan struct{}, 1), next: firstSize}
}

// A Lag says how far an answer is behind the feed.
type Lag struct {
	Percent int   // how much is indexed, from 0 to 99
	Err     error // why the index cannot be written; nil: it only takes time
}

// A Snapshot is the index in one snapshot of the store.
type Snapshot struct {
	r store.Reader
	g *generation
}

// Answer calls fn with a snapshot of the index. It contains every change committed
// before the call; if the index did not catch up in time, Answer returns by how
// much it lags, and nil otherwise. With a reader of a running Update in within, the
// snapshot is of that reader, and the index does not catch up.
func (c *Catalog) Answer(ctx context.Context, within store.Reader, fn func(Snapshot) error) (lag *Lag, err error) {
	var target int64
	var blocked error
	view := func(ctx context.Context, fn func(store.Reader) error) error { return fn(within) }
	if within == nil {
		view = c.st.View
		if target, blocked, err = c.catchUp(ctx); err != nil {
			return nil, err
		}
	}
	err = view(ctx, func(r store.Reader) error {
		lag = nil
		st, _, err := load(ctx, r)
		if err != nil {
			return err
		}
		if within != nil {
			if target, err = newest(ctx, r); err != nil {
				return err
			}
		}
		if !st.covers(target) {
			if lag, err = lagOf(ctx, r, st, target); err != nil {
				return err
			}
			lag.Err = blocked
		}
		return fn(Snapshot{r, st.answering()})
	})
	return lag, err
}

// catchUp brings the index up to the newest event for at most the budget. It
// returns the Seq of that event, and why the index cannot be written, if so.
func (c *Catalog) catchUp(ctx context.Context) (target int64, blocked, err error) {
	if target, err = newest(ctx, c.st); err != nil {
		return 0, nil, err
	}
	start, cancel := context.WithTimeout(ctx, budget)
	defer cancel()
	for held := false; ; {
		st, _, err := load(ctx, c.st)
		if err != nil || st.covers(target) {
			return target, nil, err
		}
		if !held {
			select {
			case c.busy <- struct{}{}:
				defer func() { <-c.busy }()
				held = true
				continue // another request may have done the work
			case <-start.Done():
				return target, nil, ctx.Err()
			}
		}
		if start.Err() != nil {
			return target, nil, ctx.Err()
		}
		if _, err := c.step(start, ctx, c.plan, false); err != nil && !errors.Is(err, context.DeadlineExceeded) {
			return target, err, ctx.Err()
		}
	}
}

// Index brings the index up to the end of the feed, merges runs and deletes the
// entries of earlier builds. It stops early when ctx ends. Events that are appended
// meanwhile are left for the next call, so that they are indexed together.
func (c *Catalog) Index(ctx context.Context) error {
	for _, plan := range []planner{c.plan, c.tidy} {
		for more := true; more; {
			err := c.alone(ctx, func() error {
				b, err := c.step(ctx, ctx, plan, false)
				if more = b != nil && b.more; b != nil && b.written {
					c.Recent.forget(b.after.seq())
				}
				return err
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// Clean calls Index, and also deletes what the entries contain of licenses that no
// longer exist, and entries of earlier releases that an archive brought.
func (c *Catalog) Clean(ctx context.Context) error {
	for found := true; found; {
		if err := c.Index(ctx); err != nil {
			return err
		}
		err := c.alone(ctx, func() error {
			b, err := c.step(ctx, ctx, c.clean, false)
			found = b != nil
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// clean returns a batch that begins to delete what Clean deletes, or nil if there is
// nothing.
func (c *Catalog) clean(ctx context.Context, r store.Reader, _ bool) (*batch, error) {
	b, err := c.batch(ctx, r)
	if err != nil {
		return nil, err
	}
	kinds, err := firstKinds(ctx, r)
	if err != nil {
		return nil, err
	}
	st, gone := &b.after, 0
	st.Old = append(st.Old, kinds...)
	if st.Live != nil {
		for _, r := range st.Live.Runs {
			gone += r.Gone
		}
	}
	if gone > 0 && !slices.ContainsFunc(st.Live.Runs, func(r run) bool { return r.Open }) {
		st.Live.beginMerge(0, len(st.Live.Runs))
	}
	if len(kinds) == 0 && gone == 0 {
		return nil, nil
	}
	return b, nil
}

// alone calls fn while nothing else in this process indexes.
func (c *Catalog) alone(ctx context.Context, fn func() error) error {
	select {
	case c.busy <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-c.busy }()
	return fn()
}

// newest returns the Seq of the newest event, or zero if there is none.
func newest(ctx context.Context, r store.Reader) (int64, error) {
	events, err := r.Events(ctx, store.EventQuery{Descending: true, Limit: 1})
	if err != nil || len(events) == 0 {
		return 0, err
	}
	return events[0].Seq, nil
}

// errBroken: the entries of a generation contradict each other.
var errBroken = errors.New("the index is damaged")
