package catalog

import (
	"context"
	"slices"

	"github.com/seed-d8a106b4/licensekit/store"
)

// A pairReader reads the pairs of a generation in order. Earlier releases had an
// entry for each pair, with the pair as its key.
type pairReader struct {
	r    store.Reader
	g    *generation // nil: the entries of an earlier release
	kind string      // of the entries
}

// newPairReader returns a reader of the pairs in entries of a kind, that of
// [Index.Answer] of Words.
func newPairReader(ctx context.Context, r store.Reader, kind string) (pairReader, error) {
	st, _, err := loadState(ctx, r, wordsName)
	if err != nil {
		return pairReader{}, err
	}
	for _, g := range []*generation{st.Live, st.Next} {
		if g != nil && g.Kind == kind && g.Version >= runsVersion {
			return pairReader{r, g, kind}, nil
		}
	}
	return pairReader{r, nil, kind}, nil
}

// list returns the pairs that a query for entries with pairs as their keys
// selects: From, Before, After.ID, Descending and Limit count.
func (p pairReader) list(ctx context.Context, q store.EntryQuery) (pairs []string, err error) {
	if p.g == nil {
		q.Kind = p.kind
		entries, err := p.r.Entries(ctx, q)
		for _, e := range entries {
			pairs = append(pairs, e.Key)
		}
		return pairs, err
	}
	cursors := make([]runCursor, len(p.g.Runs))
	for i, r := range p.g.Runs {
		cursors[i] = runCursor{reader: p, q: q, run: r, low: p.g.low(r)}
	}
	for len(pairs) < q.Limit {
		first := -1
		for i := range cursors {
			c := &cursors[i]
			if err := c.fill(ctx); err != nil {
				return nil, err
			}
			if len(c.list) == 0 {
				continue
			}
			if first < 0 || c.compare(&cursors[first]) <= 0 { // the newest of equal ones
				first = i
			}
		}
		if first < 0 {
			break
		}
		found := cursors[first].list[0]
		for i := range cursors[:first+1] {
			if c := &cursors[i]; len(c.list) > 0 && c.list[0].compare(found) == 0 {
				c.list = c.list[1:]
			}
		}
		if !found.gone {
			pairs = append(pairs, found.pair())
		}
	}
	return pairs, nil
}

// A runCursor reads the postings of one run that a query selects.
type runCursor struct {
	reader pairReader
	q      store.EntryQuery
	run    run
	low    string // postings up to this pair are in another run

	list  []posting // that were read, in the order of the query
	reads int
	last  string // key of the last block that was read
	ended bool
}

// compare compares the first postings of two cursors in the order of the query.
func (c *runCursor) compare(d *runCursor) int {
	if c.q.Descending {
		c, d = d, c
	}
	return c.list[0].compare(d.list[0])
}

// fill reads blocks until there is a posting or the run ends.
func (c *runCursor) fill(ctx context.Context) error {
	for len(c.list) == 0 && !c.ended {
		entries, err := c.read(ctx)
		if err != nil {
			return err
		}
		for _, e := range entries {
			list, err := decodeBlock(nil, e.Data)
			if err != nil {
				return err
			}
			c.add(list)
		}
	}
	return nil
}

// read returns the next blocks. The first block in descending order is the one
// that would contain the upper bound, so its key is at or above that.
func (c *runCursor) read(ctx context.Context) (entries []store.Entry, err error) {
	q := c.run.blocks(c.reader.kind)
	q.Limit, q.Descending = min(c.reads+1, 3), c.q.Descending
	upper := c.upper()
	switch {
	case !c.q.Descending && c.reads == 0:
		q.From = c.run.key(max(c.q.From, c.q.After.ID))
	case c.q.Descending && c.reads == 0 && upper != "":
		q.From, q.Descending = c.run.key(upper), false
	case c.q.Descending && upper != "":
		q.Before = c.run.key(upper)
	}
	if c.last != "" {
		q.After.ID = c.last
	}
	if entries, err = c.reader.r.Entries(ctx, q); err != nil {
		return nil, err
	}
	c.reads++
	if q.Descending != c.q.Descending {
		return entries, nil // the blocks below follow
	}
	c.ended = len(entries) < q.Limit
	if len(entries) > 0 {
		c.last = entries[len(entries)-1].Key
	}
	return entries, nil
}

// upper returns the pair that all pairs of a descending query are below; empty:
// no bound.
func (c *runCursor) upper() string {
	if after := c.q.After.ID; after != "" && (c.q.Before == "" || after < c.q.Before) {
		return after
	}
	return c.q.Before
}

// add appends the postings of a block that the query selects.
func (c *runCursor) add(block []posting) {
	if c.q.Descending {
		slices.Reverse(block)
	}
	for _, p := range block {
		below := p.compareTo(c.q.From) < 0
		above := c.q.Before != "" && p.compareTo(c.q.Before) >= 0
		if below && c.q.Descending || above && !c.q.Descending {
			c.ended = true
			return
		}
		if below || above || c.low != "" && p.compareTo(c.low) <= 0 {
			continue
		}
		if after := c.q.After.ID; after != "" {
			if n := p.compareTo(after); n == 0 || n < 0 != c.q.Descending {
				continue
			}
		}
		c.list = append(c.list, p)
	}
}
