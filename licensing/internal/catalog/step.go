package catalog

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

// The sizes of a batch. Other writers wait while a batch is written, so the next
// batch is smaller if one took longer than maxHold, and larger if one took less
// than half of that.
const (
	maxHold   = 8 * time.Millisecond
	minWrites = 200 // entries; one license may need more
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
	case took < maxHold/2 && len(b.put) >= s.writes/2:
		s.writes = min(maxWrites, s.writes*2)
	}
	if s.read = min(2*s.read, maxRead); b.fit > 0 {
		s.read = min(2*b.fit, maxRead) // the Update would not fit more
	}
	return s
}

// A batch is the work of one Update, made from a snapshot.
type batch struct {
	before []byte // state of the index in the snapshot
	after  state
	put    []store.Entry
	remove map[string][]string // keys by kind

	size
	fit int // how many of the events or licenses that were read fit; zero: all
}

// A change is the change of the terms of one license.
type change struct {
	id          string
	terms       []string // all terms; nil: the license does not exist
	added, gone []string
}

// step indexes one batch, or deletes a batch of old entries. It reports whether
// nothing is left to do. The context start bounds the wait for the write lock.
// The caller must hold ix.busy.
func (ix *Index) step(start, ctx context.Context) (done bool, err error) {
	var b *batch
	err = ix.st.View(ctx, func(r store.Reader) (err error) {
		b, err = ix.plan(ctx, r, false)
		if errors.Is(err, errBroken) {
			b, err = ix.plan(ctx, r, true)
		}
		return err
	})
	if err != nil || b == nil {
		return err == nil, err
	}
	err = ix.commit(start, ctx, b)
	if errors.Is(err, store.ErrNotFound) { // an entry to delete is missing
		err = ix.st.View(ctx, func(r store.Reader) (err error) {
			b, err = ix.plan(ctx, r, true)
			return err
		})
		if err == nil {
			err = ix.commit(start, ctx, b)
		}
	}
	if errors.Is(err, store.ErrConflict) {
		err = nil // the next step reads again
	}
	return false, err
}

// commit writes a batch unless the state of the index has changed.
func (ix *Index) commit(start, ctx context.Context, b *batch) error {
	e, err := ix.entry(b.after)
	if err != nil {
		return err
	}
	put := append(b.put, e)
	var took time.Duration
	defer func() { ix.next = b.size.after(b, took) }()
	return ix.st.Update(start, func(tx store.Tx) error {
		began := time.Now()
		defer func() { took = time.Since(began) }()
		_, data, err := ix.load(ctx, tx)
		if err != nil || !bytes.Equal(data, b.before) {
			return err
		}
		for kind, keys := range b.remove {
			if err := tx.DeleteEntries(ctx, kind, keys...); err != nil {
				return err
			}
		}
		return tx.PutEntries(ctx, put...)
	})
}

// plan returns the next batch, or nil if nothing is left to do. If rebuild is
// true, it begins a new build.
func (ix *Index) plan(ctx context.Context, r store.Reader, rebuild bool) (*batch, error) {
	b := &batch{remove: map[string][]string{}, size: ix.next}
	var err error
	if b.after, b.before, err = ix.load(ctx, r); err != nil {
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
	if g.Scanning {
		return b, ix.scan(ctx, r, g, b)
	}
	events, err := r.Events(ctx, store.EventQuery{After: g.Seq, Limit: b.read})
	if err != nil {
		return nil, err
	}
	if g.Seq == 0 && len(events) > 0 && events[0].Seq > 1 { // imported into an empty store
		return b, ix.rebuild(ctx, r, b)
	}
	switch {
	case len(events) > 0:
		if err := ix.apply(ctx, r, g, events, b); err != nil {
			return nil, err
		}
	case st.Next == nil && len(st.Old) > 0:
		return b, drop(ctx, r, b)
	case st.Next == nil:
		more := false
		if ix.tidy != nil {
			more, err = ix.tidy(ctx, r, g, b)
		}
		if err != nil || !more {
			return nil, err
		}
	}
	if st.Next != nil && (len(events) == 0 || g.Seq == events[len(events)-1].Seq && len(events) < b.read) {
		st.finish()
	}
	return b, nil
}

// rebuild begins a new build. The first one leaves the entries of earlier
// releases in place until it is complete.
func (ix *Index) rebuild(ctx context.Context, r store.Reader, b *batch) error {
	seq, err := newest(ctx, r)
	if err != nil {
		return err
	}
	if b.before == nil {
		entries, err := r.Entries(ctx, store.EntryQuery{Kind: ix.before, Limit: 1})
		if err != nil {
			return err
		}
		if len(entries) > 0 {
			b.after.Live = &generation{Kind: ix.before}
		}
	}
	ix.begin(&b.after, seq)
	return ix.scan(ctx, r, b.after.Next, b)
}

// scan adds the next licenses to a build. Licenses that are created or changed
// meanwhile have events after the build's Seq.
func (ix *Index) scan(ctx context.Context, r store.Reader, g *generation, b *batch) error {
	licenses, err := r.Licenses(ctx, store.LicenseQuery{After: store.Position{ID: g.Scanned}, Limit: b.read})
	if err != nil {
		return err
	}
	var changes []change
	writes := 0
	for _, l := range licenses {
		terms, err := ix.terms(ctx, r, l, false)
		if err != nil {
			return err
		}
		if writes += 1 + entriesOf(terms); writes > b.writes && len(changes) > 0 {
			b.fit = len(changes)
			return ix.writeAll(ctx, r, g, changes, b)
		}
		changes = append(changes, change{id: l.ID, terms: nonNil(terms), added: terms})
		g.Scanned = l.ID
	}
	if g.Scanning = len(licenses) == b.read; !g.Scanning {
		seq, err := newest(ctx, r)
		if err != nil {
			return err
		}
		if seq == g.Seq {
			b.after.finish()
		}
	}
	return ix.writeAll(ctx, r, g, changes, b)
}

// apply compares the licenses of events with their indexed terms, and advances
// the cursor past the events whose licenses fit in the batch.
func (ix *Index) apply(ctx context.Context, r store.Reader, g *generation, events []store.Event, b *batch) error {
	ids := make([]string, 0, len(events))
	seen := make(map[string]bool, len(events))
	fresh := make(map[string]bool) // licenses created in this batch, without activations so far
	for _, e := range events {
		switch {
		case e.Type == "license.created":
			fresh[e.Subject] = true
		case strings.HasPrefix(e.Type, "activation."):
			delete(fresh, e.Subject)
		}
		if e.Subject != "" && !seen[e.Subject] {
			seen[e.Subject] = true
			ids = append(ids, e.Subject)
		}
	}
	current, indexed, err := readBoth(ctx, r, g, ids)
	if err != nil {
		return err
	}
	var changes []change
	writes := 0
	clear(seen)
	for i, e := range events {
		if id := e.Subject; id != "" && !seen[id] {
			seen[id] = true
			c := change{id: id}
			if l, ok := current[id]; ok {
				if c.terms, err = ix.terms(ctx, r, l, fresh[id]); err != nil {
					return err
				}
				c.terms = nonNil(c.terms)
			}
			was, known := indexed[id]
			c.added, c.gone = without(c.terms, was), without(was, c.terms)
			if len(c.added)+len(c.gone) > 0 || known != (c.terms != nil) {
				if writes += 1 + entriesOf(c.added) + entriesOf(c.gone); writes > b.writes && len(changes) > 0 {
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

// readBoth returns the records of licenses and their indexed terms.
func readBoth(ctx context.Context, r store.Reader, g *generation, ids []string) (current map[string]store.License, indexed map[string][]string, err error) {
	current, indexed = map[string]store.License{}, map[string][]string{}
	if len(ids) == 0 {
		return current, indexed, nil
	}
	licenses, err := r.Licenses(ctx, store.LicenseQuery{IDs: ids})
	if err != nil {
		return nil, nil, err
	}
	for _, l := range licenses {
		current[l.ID] = l
	}
	entries, err := r.Entries(ctx, store.EntryQuery{Kind: g.records(), Keys: ids})
	if err != nil {
		return nil, nil, err
	}
	for _, e := range entries {
		if indexed[e.Key], err = termsOf(e); err != nil {
			return nil, nil, err
		}
	}
	return current, indexed, nil
}

// writeAll adds the entries of changed licenses and of their terms to a batch.
func (ix *Index) writeAll(ctx context.Context, r store.Reader, g *generation, changes []change, b *batch) error {
	n := len(changes)
	for _, c := range changes {
		n += entriesOf(c.added)
	}
	b.put = slices.Grow(b.put, n)
	for _, c := range changes {
		if c.terms == nil {
			b.remove[g.records()] = append(b.remove[g.records()], c.id)
			continue
		}
		data, err := json.Marshal(c.terms)
		if err != nil {
			return err
		}
		b.put = append(b.put, store.Entry{Kind: g.records(), Key: c.id, Data: data, Move: store.Derived})
	}
	return ix.write(ctx, r, g, changes, b)
}

// drop deletes some entries of the first of the old kinds.
func drop(ctx context.Context, r store.Reader, b *batch) error {
	kind := b.after.Old[0]
	entries, err := r.Entries(ctx, store.EntryQuery{Kind: kind, Limit: maxRead})
	if err != nil {
		return err
	}
	for _, e := range entries {
		b.remove[kind] = append(b.remove[kind], e.Key)
	}
	if len(entries) < maxRead {
		b.after.Old = b.after.Old[1:]
	}
	return nil
}

// entriesOf returns how many entries of their own terms have.
func entriesOf(terms []string) (n int) {
	for _, term := range terms {
		if !strings.HasPrefix(term, groupMark) {
			n++
		}
	}
	return n
}

// termsOf returns the terms that an entry of the kind records holds.
func termsOf(e store.Entry) (terms []string, err error) {
	if err := json.Unmarshal(e.Data, &terms); err != nil {
		return nil, errors.Join(errBroken, err)
	}
	return terms, nil
}

// without returns the elements of a that are not in b.
func without(a, b []string) (rest []string) {
	if slices.Equal(a, b) {
		return nil
	}
	in := make(map[string]bool, len(b))
	for _, s := range b {
		in[s] = true
	}
	for _, s := range a {
		if !in[s] {
			rest = append(rest, s)
		}
	}
	return rest
}

func nonNil(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}
