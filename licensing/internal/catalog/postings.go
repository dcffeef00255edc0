package catalog

import (
	"context"
	"slices"

	"github.com/seed-d8a106b4/licensekit/store"
)

// A pairReader reads the pairs of a generation in order. The first release had an
// entry for each pair, with the pair as its key.
type pairReader struct {
	Snapshot
	// blocks has what first has read, by key: a search compares its terms before
	// it lists the candidates of one.
	blocks map[string][]store.Entry
}

func newPairReader(s Snapshot) pairReader { return pairReader{s, map[string][]store.Entry{}} }

// A pairList is the pairs that a query for entries with pairs as their keys
// selects: From, Before, After.ID and Descending count.
type pairList struct {
	reader  pairReader
	q       store.EntryQuery
	cursors []runCursor
}

func (p pairReader) list(q store.EntryQuery) *pairList {
	l := &pairList{reader: p, q: q}
	l.cursors = make([]runCursor, len(p.g.Runs))
	for i, r := range p.g.Runs {
		l.cursors[i] = runCursor{reader: p, q: q, run: r, low: p.g.low(r)}
	}
	return l
}

// largest returns a reader of the largest run alone.
func (p pairReader) largest() pairReader {
	g := *p.g
	g.Runs = nil
	for _, r := range p.g.Runs {
		if r.Into == 0 && (len(g.Runs) == 0 || r.Size > g.Runs[0].Size) {
			g.Runs = []run{r}
		}
	}
	p.g = &g
	return p
}

// next returns the next n pairs, or fewer at the end of the list.
func (l *pairList) next(ctx context.Context, n int) (pairs []string, err error) {
	if l.reader.g.isFirst() {
		l.q.Kind, l.q.Limit = l.reader.g.words(), n
		entries, err := l.reader.r.Entries(ctx, l.q)
		for _, e := range entries {
			pairs = append(pairs, e.Key)
			l.q.After.ID = e.Key
		}
		return pairs, err
	}
	for len(pairs) < n {
		first := -1
		for i := range l.cursors {
			c := &l.cursors[i]
			if err := c.fill(ctx); err != nil {
				return nil, err
			}
			if len(c.list) == 0 {
				continue
			}
			if first < 0 || c.compare(&l.cursors[first]) <= 0 { // the newest of equal ones
				first = i
			}
		}
		if first < 0 {
			break
		}
		found := l.cursors[first].list[0]
		for i := range l.cursors[:first+1] {
			if c := &l.cursors[i]; len(c.list) > 0 && c.list[0].compare(found) == 0 {
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

	list  []posting // that were decoded, in the order of the query
	rest  decoder   // of the block that is decoded, in ascending order
	next  []store.Entry
	reads int
	last  string // key of the last block that was read
	final bool   // no blocks follow
	ended bool   // no postings follow that the query selects
}

// compare compares the first postings of two cursors in the order of the query.
func (c *runCursor) compare(d *runCursor) int {
	if c.q.Descending {
		c, d = d, c
	}
	return c.list[0].compare(d.list[0])
}

// fill decodes postings until there is one or the run ends.
func (c *runCursor) fill(ctx context.Context) (err error) {
	const some = 32 // postings
	for len(c.list) == 0 {
		switch {
		case c.rest.rest != "":
			for c.rest.rest != "" && len(c.list) < some {
				c.add(c.rest.posting())
			}
			if c.rest.err != nil {
				return c.rest.err
			}
		case c.ended:
			return nil
		case len(c.next) == 0 && c.final:
			return nil
		case len(c.next) == 0:
			if c.next, err = c.read(ctx); err != nil {
				return err
			}
		case c.q.Descending:
			block, err := decodeBlock(nil, c.next[0].Data)
			if err != nil {
				return err
			}
			c.next = c.next[1:]
			for _, p := range slices.Backward(block) {
				c.add(p)
			}
		default:
			c.rest, c.next = decoder{rest: string(c.next[0].Data)}, c.next[1:]
		}
	}
	return nil
}

// read returns the next blocks.
func (c *runCursor) read(ctx context.Context) ([]store.Entry, error) {
	q := c.run.blocks(c.reader.g.words())
	upper := c.upper()
	c.reads++
	switch {
	case c.reads == 1 && c.q.Descending && upper != "": // the blocks below follow
		return c.reader.first(ctx, c.run, upper)
	case c.reads == 1 && !c.q.Descending:
		entries, err := c.reader.first(ctx, c.run, max(c.q.From, c.q.After.ID))
		return entries, c.took(entries, 1, err)
	case c.q.Descending && upper != "":
		q.Before = c.run.key(upper)
	}
	q.After.ID, q.Limit, q.Descending = c.last, min(c.reads, 8), c.q.Descending
	entries, err := c.reader.r.Entries(ctx, q)
	return entries, c.took(entries, q.Limit, err)
}

// took records up to which block was read.
func (c *runCursor) took(entries []store.Entry, limit int, err error) error {
	if c.final = len(entries) < limit; len(entries) > 0 {
		c.last = entries[len(entries)-1].Key
	}
	return err
}

// first returns the block of a run that a pair would be in, if there is one.
func (p pairReader) first(ctx context.Context, r run, pair string) (entries []store.Entry, err error) {
	q := r.blocks(p.g.words())
	q.From, q.Limit = r.key(pair), 1
	entries, ok := p.blocks[q.From]
	if !ok {
		entries, err = p.r.Entries(ctx, q)
		p.blocks[q.From] = entries
	}
	return entries, err
}

// upper returns the pair that all pairs of a descending query are below; empty:
// no bound.
func (c *runCursor) upper() string {
	if after := c.q.After.ID; after != "" && (c.q.Before == "" || after < c.q.Before) {
		return after
	}
	return c.q.Before
}

// add appends a posting if the query selects it.
func (c *runCursor) add(p posting) {
	below := p.compareTo(c.q.From) < 0
	above := c.q.Before != "" && p.compareTo(c.q.Before) >= 0
	if below && c.q.Descending || above && !c.q.Descending {
		c.ended, c.rest, c.next = true, decoder{}, nil
		return
	}
	if below || above || c.ended || c.low != "" && p.compareTo(c.low) <= 0 {
		return
	}
	if after := c.q.After.ID; after != "" {
		if n := p.compareTo(after); n == 0 || n < 0 != c.q.Descending {
			return
		}
	}
	c.list = append(c.list, p)
}
