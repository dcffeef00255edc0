package catalog

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/record"
	"github.com/seed-d8a106b4/licensekit/store"
)

// A Catalog holds the indexes of one store. It is safe for concurrent use.
type Catalog struct {
	Counts *Index
	Words  *Index
	Recent *Recent // the changes that this process commits
}

// An Index is one set of terms of all licenses.
type Index struct {
	name    string
	version int    // increase it when terms changes
	before  string // kind of the entries of earlier releases
	// terms returns the terms of a license. If was is not nil, the activations
	// have the terms in was, or later events name them.
	terms func(ctx context.Context, r store.Reader, l record.License, was *terms) (terms, error)
	// write adds the entries for changed licenses to a batch.
	write func(ctx context.Context, r store.Reader, g *generation, changes []change, b *batch) error
	// together is how many terms share an entry, roughly.
	together int

	st     store.Store
	recent *Recent
	purged func(context.Context, store.Reader) (int64, error)
	busy   chan struct{} // shared by the indexes: one catch-up at a time
	next   size          // of the next batch; guarded by busy
}

const (
	wordsName   = "words"
	runsVersion = 4 // of the index for search: earlier ones have an entry for each pair
)

// budget is how long a request may catch up before it answers.
const budget = 50 * time.Millisecond

// New returns the Catalog of a store. The function purged returns the Seq of the
// last event that retention has removed. New does no I/O.
func New(st store.Store, purged func(context.Context, store.Reader) (int64, error)) *Catalog {
	busy, recent := make(chan struct{}, 1), new(Recent)
	return &Catalog{
		Recent: recent,
		Counts: &Index{name: "counts", version: 3, before: "count", terms: countTerms, write: writeCounts, together: 1, st: st, recent: recent, purged: purged, busy: busy, next: firstSize},
		Words:  &Index{name: wordsName, version: runsVersion, before: "word", terms: wordTerms, write: writeWords, together: 100, st: st, recent: recent, purged: purged, busy: busy, next: firstSize},
	}
}

// A Lag says how far an answer is behind the feed.
type Lag struct {
	Percent int   // how much is indexed, from 0 to 99
	Err     error // why the index cannot be written; nil: it only takes time
}

// Answer calls fn with a snapshot and the kind of the entries to answer from. The
// answer contains every change committed before the call; if the index did not
// catch up in time, Answer returns by how much it lags, and nil otherwise. With
// a reader of a running Update in within, fn gets that reader, and the index
// does not catch up.
func (ix *Index) Answer(ctx context.Context, within store.Reader, fn func(r store.Reader, kind string) error) (lag *Lag, err error) {
	var target int64
	var blocked error
	view := func(ctx context.Context, fn func(store.Reader) error) error { return fn(within) }
	if within == nil {
		view = ix.st.View
		if target, blocked, err = ix.catchUp(ctx); err != nil {
			return nil, err
		}
	}
	err = view(ctx, func(r store.Reader) error {
		lag = nil
		st, _, err := ix.load(ctx, r)
		if err != nil {
			return err
		}
		if within != nil {
			if target, err = newest(ctx, r); err != nil {
				return err
			}
		}
		if !ix.covers(st, target) {
			if lag, err = lagOf(ctx, r, st, target); err != nil {
				return err
			}
			lag.Err = blocked
		}
		return fn(r, ix.answering(st).Kind)
	})
	return lag, err
}

// catchUp brings the index up to the newest event for at most the budget. It
// returns the Seq of that event, and why the index cannot be written, if so.
func (ix *Index) catchUp(ctx context.Context) (target int64, blocked, err error) {
	if target, err = newest(ctx, ix.st); err != nil {
		return 0, nil, err
	}
	start, cancel := context.WithTimeout(ctx, budget)
	defer cancel()
	for held := false; ; {
		st, _, err := ix.load(ctx, ix.st)
		if err != nil || ix.covers(st, target) {
			return target, nil, err
		}
		if !held {
			select {
			case ix.busy <- struct{}{}:
				defer func() { <-ix.busy }()
				held = true
				continue // another request may have done the work
			case <-start.Done():
				return target, nil, ctx.Err()
			}
		}
		if start.Err() != nil {
			return target, nil, ctx.Err()
		}
		if _, err := step(start, ctx, (*Index).plan, false, ix); err != nil && !errors.Is(err, context.DeadlineExceeded) {
			return target, err, ctx.Err()
		}
	}
}

// Index brings both indexes up to the end of the feed, merges runs and deletes the
// entries of earlier builds. It stops early when ctx ends. Events that are appended
// meanwhile are left for the next call, so that they are indexed together. Counts
// come first: they are built before the index for search. After that, one Update
// writes a batch of each.
func (c *Catalog) Index(ctx context.Context) error {
	for _, plan := range []planner{(*Index).plan, (*Index).tidy} {
		for more := true; more; {
			err := c.Counts.alone(ctx, func() error {
				batches, err := step(ctx, ctx, plan, false, c.Counts, c.Words)
				more = slices.ContainsFunc(batches, func(b *batch) bool { return b.more })
				if err == nil && len(batches) == 2 { // one for each index
					c.Recent.forget(min(batches[0].seq(), batches[1].seq()))
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
		err := c.Counts.alone(ctx, func() error {
			batches, err := step(ctx, ctx, (*Index).clean, false, c.Counts, c.Words)
			found = len(batches) > 0
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
func (ix *Index) clean(ctx context.Context, r store.Reader, _ *reading, _ bool) (*batch, error) {
	b, err := ix.batch(ctx, r)
	if err != nil {
		return nil, err
	}
	entries, err := r.Entries(ctx, store.EntryQuery{Kind: ix.before, Limit: 1})
	if err != nil {
		return nil, err
	}
	st, gone := &b.after, 0
	if st.Live != nil {
		for _, r := range st.Live.Runs {
			gone += r.Gone
		}
	}
	if len(entries) == 0 && gone == 0 {
		return nil, nil
	}
	if len(entries) > 0 {
		st.Old = append(st.Old, ix.before)
	}
	if gone > 0 && !slices.ContainsFunc(st.Live.Runs, func(r run) bool { return r.Open }) {
		st.Live.beginMerge(0, len(st.Live.Runs))
	}
	return b, nil
}

// alone calls fn while nothing else in this process indexes.
func (ix *Index) alone(ctx context.Context, fn func() error) error {
	select {
	case ix.busy <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-ix.busy }()
	return fn()
}

// covers reports whether the index contains every change through an event.
func (ix *Index) covers(st state, target int64) bool {
	return st.Next == nil && st.Live != nil && st.Live.Version == ix.version && st.Live.Seq >= target
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
