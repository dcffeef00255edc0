package catalog

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

// The sizes of a batch. Other writers wait while a batch is written, so the next
// one is smaller if one took longer than maxHold, and larger if one took less than
// half of that.
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

// A batch is what an Update writes to the index, made from a snapshot.
type batch struct {
	before []byte // state of the index in the snapshot
	after  state
	put    []store.Entry
	remove map[string][]string // keys by kind

	size
	fit     int  // how many of the events or licenses that were read fit; zero: all
	more    bool // there is more to do
	written bool // no other process was first
}

// A change is the change of one license.
type change struct {
	id      string
	exists  bool
	was, is terms
	// The words that were added and are gone.
	added, gone []string
}

// writes returns about how many entries a change takes. Most counts and blocks
// contain other licenses too.
func (c change) writes() int {
	n := 1 + (len(c.added)+len(c.gone))/100
	if c.was.counted != c.is.counted {
		n++
	}
	return n
}

// A planner makes the next batch from a snapshot: plan, tidy or clean. It returns
// nil if there is none. If rebuild is true, it begins a new build.
type planner func(ctx context.Context, r store.Reader, rebuild bool) (*batch, error)

// step writes one batch, and returns it; nil: there is none. The context start
// bounds the wait for the write lock. The caller must hold busy.
func (c *Catalog) step(start, ctx context.Context, plan planner, rebuild bool) (b *batch, err error) {
	err = c.st.View(ctx, func(r store.Reader) error {
		if b, err = plan(ctx, r, rebuild); errors.Is(err, errBroken) {
			b, err = plan(ctx, r, true)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("index: %w", err)
	}
	if b == nil {
		return nil, nil
	}
	switch err = c.commit(start, ctx, b); {
	case errors.Is(err, store.ErrNotFound) && !rebuild: // an entry to delete is missing
		return c.step(start, ctx, c.plan, true)
	case errors.Is(err, store.ErrConflict):
		err = nil // the next step reads again
	}
	return b, err
}

// commit writes a batch unless the state of the index has changed.
func (c *Catalog) commit(start, ctx context.Context, b *batch) error {
	var took time.Duration
	err := c.st.Update(start, func(tx store.Tx) error {
		began := time.Now()
		defer func() { took = time.Since(began) }()
		return b.write(ctx, tx)
	})
	c.next = b.size.after(b, took)
	b.written = b.written && err == nil
	b.more = b.more || !b.written
	return err
}

// write writes a batch unless the state of the index has changed.
func (b *batch) write(ctx context.Context, tx store.Tx) error {
	_, data, err := load(ctx, tx)
	if b.written = err == nil && bytes.Equal(data, b.before); !b.written {
		return err
	}
	for kind, keys := range b.remove {
		if err := tx.DeleteEntries(ctx, kind, keys...); err != nil {
			return err
		}
	}
	e, err := b.after.entry()
	if err != nil {
		return err
	}
	if err := tx.PutEntries(ctx, b.put...); err != nil {
		return err
	}
	return tx.PutEntries(ctx, e)
}

// batch returns an empty batch for the state of the index in a snapshot.
func (c *Catalog) batch(ctx context.Context, r store.Reader) (b *batch, err error) {
	b = &batch{remove: map[string][]string{}, size: c.next, more: true}
	b.after, b.before, err = load(ctx, r)
	return b, err
}

// plan returns the batch that brings the index closer to the end of the feed, or
// nil if it is there.
func (c *Catalog) plan(ctx context.Context, r store.Reader, rebuild bool) (*batch, error) {
	b, err := c.batch(ctx, r)
	if err != nil {
		return nil, err
	}
	st := &b.after
	purged, err := c.purged(ctx, r)
	if err != nil {
		return nil, err
	}
	g := cmp.Or(st.Next, st.Live)
	if rebuild || g == nil || g.Version != version || g.Seq < purged {
		return b, b.rebuild(ctx, r)
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
		return b, b.scan(ctx, r, g)
	}
	read, err := c.read(ctx, r, g.Seq, b.read)
	if err != nil {
		return nil, err
	}
	if g.Seq == 0 && len(read.events) > 0 && read.events[0].Seq > 1 { // imported into an empty store
		return b, b.rebuild(ctx, r)
	}
	if len(read.events) == 0 && st.Next == nil {
		return nil, nil
	}
	if err := b.apply(ctx, r, g, read); err != nil {
		return nil, err
	}
	if b.more = read.more || b.fit > 0; st.Next != nil && !b.more {
		st.finish()
	}
	return b, nil
}

// tidy returns a batch that deletes old entries or merges runs, or nil if there is
// nothing to do.
func (c *Catalog) tidy(ctx context.Context, r store.Reader, rebuild bool) (*batch, error) {
	b, err := c.batch(ctx, r)
	if err != nil {
		return nil, err
	}
	switch st := &b.after; {
	case rebuild:
		return b, b.rebuild(ctx, r)
	case st.Live == nil || st.Next != nil || st.Live.Version != version:
		return nil, nil
	case len(st.Old) > 0:
		return b, b.drop(ctx, r)
	default:
		if merged, err := st.Live.mergeRuns(ctx, r, b); err != nil || !merged {
			return nil, err
		}
		return b, nil
	}
}

// apply compares the licenses of events with their indexed terms, and advances
// the cursor past the events whose licenses fit in the batch.
func (b *batch) apply(ctx context.Context, r store.Reader, g *generation, read *reading) error {
	indexed, err := g.readIndexed(ctx, r, read.ids)
	if err != nil {
		return err
	}
	var changes []change
	writes := 0
	seen := make(map[string]bool, len(read.ids))
	for i, e := range read.events {
		if id := e.Subject; id != "" && !seen[id] {
			seen[id] = true
			was, known := indexed[id]
			c := change{id: id, was: was}
			if l, ok := read.licenses[id]; ok {
				c.exists = true
				fingerprints, err := read.fingerprintTerms(ctx, r, id, indexed)
				if err != nil {
					return err
				}
				if c.is, err = termsOf(l, fingerprints); err != nil {
					return err
				}
			}
			if known != c.exists || !c.is.equal(was) {
				is, before := c.is.words(), was.words()
				c.added, c.gone = without(is, before), without(before, is)
				if writes += c.writes(); writes > b.writes && len(changes) > 0 {
					b.fit = i
					break
				}
				changes = append(changes, c)
			}
		}
		g.Seq = e.Seq
	}
	return b.putAll(ctx, r, g, changes)
}

// readIndexed returns the indexed terms of licenses by ID.
func (g *generation) readIndexed(ctx context.Context, r store.Reader, ids []string) (map[string]terms, error) {
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

// putAll adds what changes of licenses take to the batch.
func (b *batch) putAll(ctx context.Context, r store.Reader, g *generation, changes []change) error {
	b.put = slices.Grow(b.put, len(changes))
	for _, c := range changes {
		if !c.exists {
			b.remove[g.records()] = append(b.remove[g.records()], c.id)
			continue
		}
		b.put = append(b.put, store.Entry{Kind: g.records(), Key: c.id, Data: c.is.encode(), Move: store.Derived})
	}
	if err := b.putCounts(ctx, r, g, changes); err != nil {
		return err
	}
	return b.putWords(ctx, r, g, changes)
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
