package catalog

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

// The sizes of a batch. Other writers wait while the batches of both indexes are
// written, so the next batch is smaller if one took longer than maxHold, and larger
// if one took less than half of that.
const (
	maxHold   = 3 * time.Millisecond
	minWrites = 100 // entries; one license may need more
	maxWrites = 2000
	maxRead   = 500 // events or licenses
)

// A size is how much the next batch reads and writes at most.
type size struct{ read, writes int }

// firstSize is the size of the first batch of a process.
var firstSize = size{read: 200, writes: 400}

// after returns the size of the batch after b, which was written in a time.
func (s size) after(b *batch, took time.Duration) size {
	switch {
	case took > maxHold:
		s.writes = max(minWrites, s.writes/2)
	case took < maxHold/2 && b.fit > 0:
		s.writes = min(maxWrites, s.writes*2)
	}
	if s.read = min(2*s.read, maxRead); b.fit > 0 {
		s.read = min(b.fit+b.fit/8+1, maxRead) // what does not fit is read again
	}
	return s
}

// A batch is what an Update writes to one index, made from a snapshot.
type batch struct {
	ix     *Index
	before []byte // state of the index in the snapshot
	after  state
	put    []store.Entry
	remove map[string][]string // keys by kind

	size
	took time.Duration // for writing it
	fit  int           // how many of the events or licenses that were read fit; zero: all
	more bool          // there is more to do, or the batch was not written
}

// A change is the change of the terms of one license.
type change struct {
	id          string
	exists      bool
	terms       terms
	added, gone []string
}

// A planner makes the next batch of an index from a snapshot: plan, tidy or clean.
// It returns nil if there is none.
type planner func(ix *Index, ctx context.Context, r store.Reader, shared *reading, rebuild bool) (*batch, error)

// step writes one batch of each of some indexes, from one snapshot and in one
// Update. It returns the batches: none after that of an index that is being built.
// The context start bounds the wait for the write lock. The caller must hold busy.
func step(start, ctx context.Context, plan planner, rebuild bool, indexes ...*Index) (batches []*batch, err error) {
	st := indexes[0].st
	err = st.View(ctx, func(r store.Reader) error {
		var shared reading
		for _, ix := range indexes {
			b, err := plan(ix, ctx, r, &shared, rebuild)
			if errors.Is(err, errBroken) {
				b, err = plan(ix, ctx, r, &shared, true)
			}
			if err != nil {
				return fmt.Errorf("index %s: %w", ix.name, err)
			}
			if b != nil {
				batches = append(batches, b)
			}
			if b != nil && b.after.Next != nil {
				break
			}
		}
		return nil
	})
	if err != nil || len(batches) == 0 {
		return nil, err
	}
	switch err = commit(start, ctx, batches...); {
	case errors.Is(err, store.ErrConflict): // the next step reads again
		batches[0].more = true
		return batches, nil
	case !errors.Is(err, store.ErrNotFound) || rebuild:
		return batches, err
	}
	for _, b := range batches { // an entry to delete is missing: find the index that lacks it
		if err := commit(start, ctx, b); errors.Is(err, store.ErrNotFound) {
			if _, err = step(start, ctx, (*Index).plan, true, b.ix); err != nil {
				return nil, err
			}
			b.more = true
		} else if err != nil && !errors.Is(err, store.ErrConflict) {
			return nil, err
		}
	}
	return batches, nil
}

// commit writes batches, each unless the state of its index has changed.
func commit(start, ctx context.Context, batches ...*batch) error {
	defer func() {
		for _, b := range batches {
			b.ix.next = b.size.after(b, b.took)
		}
	}()
	return batches[0].ix.st.Update(start, func(tx store.Tx) error {
		for _, b := range batches {
			if err := b.write(ctx, tx); err != nil {
				return fmt.Errorf("index %s: %w", b.ix.name, err)
			}
		}
		return nil
	})
}

// write writes a batch unless the state of the index has changed.
func (b *batch) write(ctx context.Context, tx store.Tx) error {
	began := time.Now()
	defer func() { b.took = time.Since(began) }()
	_, data, err := b.ix.load(ctx, tx)
	if err != nil || !bytes.Equal(data, b.before) {
		b.more = true
		return err
	}
	for kind, keys := range b.remove {
		if err := tx.DeleteEntries(ctx, kind, keys...); err != nil {
			return err
		}
	}
	e, err := b.ix.entry(b.after)
	if err != nil {
		return err
	}
	if err := tx.PutEntries(ctx, b.put...); err != nil {
		return err
	}
	return tx.PutEntries(ctx, e)
}

// batch returns an empty batch for the state of the index in a snapshot.
func (ix *Index) batch(ctx context.Context, r store.Reader) (b *batch, err error) {
	b = &batch{ix: ix, remove: map[string][]string{}, size: ix.next, more: true}
	b.after, b.before, err = ix.load(ctx, r)
	return b, err
}

// plan returns the batch that brings an index closer to the end of the feed, or
// nil if it is there. If rebuild is true, it begins a new build.
func (ix *Index) plan(ctx context.Context, r store.Reader, shared *reading, rebuild bool) (*batch, error) {
	b, err := ix.batch(ctx, r)
	if err != nil {
		return nil, err
	}
	st := &b.after
	purged, err := ix.purged(ctx, r)
	if err != nil {
		return nil, err
	}
	g := st.Next
	if g == nil {
		g = st.Live
	}
	if rebuild || g == nil || g.Version != ix.version || g.Seq < purged {
		return b, ix.rebuild(ctx, r, b)
	}
	most := maxRuns
	if st.Next != nil {
		most = fanOut // searches read it only when it is complete
	}
	if len(g.Runs) > most {
		if merged, err := g.mergeRuns(ctx, r, b); err != nil || merged {
			return b, err
		}
	}
	if g.Scanning {
		return b, ix.scan(ctx, r, g, b)
	}
	if err := shared.read(ctx, r, ix.recent, g.Seq, b.read); err != nil {
		return nil, err
	}
	events := shared.events
	if g.Seq == 0 && len(events) > 0 && events[0].Seq > 1 { // imported into an empty store
		return b, ix.rebuild(ctx, r, b)
	}
	if len(events) == 0 && st.Next == nil {
		return nil, nil
	}
	if err := ix.apply(ctx, r, g, shared, b); err != nil {
		return nil, err
	}
	if b.more = shared.more || b.fit > 0; st.Next != nil && !b.more {
		st.finish()
	}
	return b, nil
}

// tidy returns a batch that deletes old entries or merges runs, or nil if there is
// nothing to do.
func (ix *Index) tidy(ctx context.Context, r store.Reader, _ *reading, rebuild bool) (*batch, error) {
	b, err := ix.batch(ctx, r)
	if err != nil {
		return nil, err
	}
	switch st := &b.after; {
	case rebuild:
		return b, ix.rebuild(ctx, r, b)
	case st.Live == nil || st.Next != nil || st.Live.Version != ix.version:
		return nil, nil
	case len(st.Old) > 0:
		return b, drop(ctx, r, b)
	default:
		if merged, err := st.Live.mergeRuns(ctx, r, b); err != nil || !merged {
			return nil, err
		}
		return b, nil
	}
}

// apply compares the licenses of events with their indexed terms, and advances
// the cursor past the events whose licenses fit in the batch.
func (ix *Index) apply(ctx context.Context, r store.Reader, g *generation, read *reading, b *batch) error {
	indexed, err := readIndexed(ctx, r, g, read.ids)
	if err != nil {
		return err
	}
	var changes []change
	writes := 0
	seen := make(map[string]bool, len(read.ids))
	for i, e := range read.events {
		if id := e.Subject; id != "" && !seen[id] {
			seen[id] = true
			c := change{id: id}
			if l, ok := read.licenses[id]; ok {
				c.exists = true
				if c.terms, err = ix.terms(ctx, r, l, read.seatTerms(id, indexed)); err != nil {
					return err
				}
			}
			was, known := indexed[id]
			is, before := c.terms.all(), was.all()
			c.added, c.gone = without(is, before), without(before, is)
			if len(c.added)+len(c.gone) > 0 || known != c.exists || !slices.Equal(c.terms.fingerprints, was.fingerprints) {
				if writes += 1 + (len(c.added)+len(c.gone))/ix.together; writes > b.writes && len(changes) > 0 {
					b.fit = i
					break
				}
				changes = append(changes, c)
			}
		}
		g.Seq = e.Seq
	}
	return ix.writeAll(ctx, r, g, changes, b)
}

// readIndexed returns the indexed terms of licenses by ID.
func readIndexed(ctx context.Context, r store.Reader, g *generation, ids []string) (map[string]terms, error) {
	indexed := make(map[string]terms, len(ids))
	if len(ids) == 0 {
		return indexed, nil
	}
	entries, err := r.Entries(ctx, store.EntryQuery{Kind: g.records(), Keys: ids})
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if indexed[e.Key], err = decodeTerms(e.Data); err != nil {
			return nil, err
		}
	}
	return indexed, nil
}

// writeAll adds the entries of changed licenses and of their terms to a batch.
func (ix *Index) writeAll(ctx context.Context, r store.Reader, g *generation, changes []change, b *batch) error {
	b.put = slices.Grow(b.put, len(changes))
	for _, c := range changes {
		if !c.exists {
			b.remove[g.records()] = append(b.remove[g.records()], c.id)
			continue
		}
		b.put = append(b.put, store.Entry{Kind: g.records(), Key: c.id, Data: c.terms.encode(), Move: store.Derived})
	}
	return ix.write(ctx, r, g, changes, b)
}

// without returns the elements of a that are not in b.
func without(a, b []string) (rest []string) {
	if slices.Equal(a, b) {
		return nil
	}
	var in map[string]bool
	if len(b) > longList {
		in = setOf(b)
	}
	for _, s := range a {
		if in == nil && !slices.Contains(b, s) || in != nil && !in[s] {
			rest = append(rest, s)
		}
	}
	return rest
}
