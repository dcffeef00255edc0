package catalog

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/seed-d8a106b4/licensekit/store"
)

// A groupBatch changes the blocks of a generation in one batch.
type groupBatch struct {
	r      store.Reader
	g      *generation
	pairs  map[string][]string // by the key of a block that was read or is new
	stored map[string]bool     // blocks in the store
	dirty  map[string]bool
}

// writeGroups adds the changes of blocks to a batch: for pairs that are gone,
// for new ones, and for a number of pairs to merge.
func writeGroups(ctx context.Context, r store.Reader, g *generation, gone, added []string, merge int, b *batch) error {
	w := &groupBatch{r: r, g: g, pairs: map[string][]string{}, stored: map[string]bool{}, dirty: map[string]bool{}}
	if err := w.remove(ctx, gone, b); err != nil {
		return err
	}
	if err := w.add(ctx, added); err != nil {
		return err
	}
	if err := w.merge(ctx, merge); err != nil {
		return err
	}
	w.flush(b)
	return nil
}

// read reads blocks that were not read yet.
func (w *groupBatch) read(ctx context.Context, keys []string) error {
	keys = slices.Compact(slices.Sorted(slices.Values(keys)))
	keys = slices.DeleteFunc(keys, func(key string) bool { _, ok := w.pairs[key]; return ok })
	for some := range slices.Chunk(keys, store.MaxLimit) {
		for _, key := range some {
			w.pairs[key] = nil
		}
		entries, err := w.r.Entries(ctx, store.EntryQuery{Kind: w.g.blocks(), Keys: some})
		if err != nil {
			return err
		}
		for _, e := range entries {
			w.stored[e.Key] = true
			w.pairs[e.Key] = strings.Split(string(e.Data), "\n")
		}
	}
	return nil
}

// set changes the pairs of a block.
func (w *groupBatch) set(key string, pairs []string) { w.pairs[key], w.dirty[key] = pairs, true }

// remove removes pairs from the runs whose licenses include theirs. A pair that
// no block has is an entry of its own.
func (w *groupBatch) remove(ctx context.Context, gone []string, b *batch) error {
	blocks := func(pair string) (keys []string) {
		term, id := splitPair(pair)
		for _, r := range w.g.Runs {
			if r.First <= id && id <= r.Last {
				keys = append(keys, r.key(term))
			}
		}
		return keys
	}
	var all []string
	for _, pair := range gone {
		all = append(all, blocks(pair)...)
	}
	if err := w.read(ctx, all); err != nil {
		return err
	}
next:
	for _, pair := range gone {
		for _, key := range blocks(pair) {
			if i := slices.Index(w.pairs[key], pair); i >= 0 {
				w.set(key, slices.Delete(w.pairs[key], i, i+1))
				continue next
			}
		}
		b.remove[w.g.Kind] = append(b.remove[w.g.Kind], pair)
	}
	return nil
}

// add writes new pairs as a run, together with those of the run of level 0.
func (w *groupBatch) add(ctx context.Context, added []string) error {
	if len(added) == 0 {
		return nil
	}
	if i := slices.IndexFunc(w.g.Runs, func(r run) bool { return r.Level == 0 }); i >= 0 {
		key := w.g.Runs[i].block(0)
		if err := w.read(ctx, []string{key}); err != nil {
			return err
		}
		added = slices.Concat(w.pairs[key], added)
		w.set(key, nil)
		w.g.Runs = slices.Delete(w.g.Runs, i, i+1)
	}
	w.g.LastRun++
	r := run{Number: w.g.LastRun, Level: level(len(added))}
	for _, pair := range added {
		term, id := splitPair(pair)
		r.include(id)
		key := r.key(term)
		w.set(key, append(w.pairs[key], pair))
	}
	w.g.Runs = append(w.g.Runs, r)
	return nil
}

// merge merges about n pairs.
func (w *groupBatch) merge(ctx context.Context, n int) error {
	for n > 0 {
		into := w.g.merging()
		if into == nil {
			return nil
		}
		var keys []string
		for _, r := range w.g.Runs {
			if r.Into == into.Number {
				keys = append(keys, r.block(into.Done))
			}
		}
		if err := w.read(ctx, keys); err != nil {
			return err
		}
		for _, from := range keys {
			for _, pair := range w.pairs[from] {
				term, _ := splitPair(pair)
				key := into.key(term)
				w.set(key, append(w.pairs[key], pair))
			}
			n -= 1 + len(w.pairs[from])
			w.set(from, nil)
		}
		if into.Done++; into.Done == into.size()/fanOut {
			into.Open, into.Done = false, 0
			number := into.Number // the run that into points to changes
			w.g.Runs = slices.DeleteFunc(w.g.Runs, func(r run) bool { return r.Into == number })
		}
	}
	return nil
}

// merging returns the run of the lowest level that others are merged into. If
// there is none, or runs of a lower level wait, it begins one. It returns nil if
// there is nothing to merge.
func (g *generation) merging() (into *run) {
	waiting := map[int][]*run{} // by level
	for i := range g.Runs {
		switch r := &g.Runs[i]; {
		case r.Open && (into == nil || r.Level < into.Level):
			into = r
		case !r.Open && r.Into == 0:
			waiting[r.Level] = append(waiting[r.Level], r)
		}
	}
	for _, l := range slices.Sorted(maps.Keys(waiting)) {
		if len(waiting[l]) < fanOut || into != nil && into.Level <= l+1 {
			continue
		}
		g.LastRun++
		begun := run{Number: g.LastRun, Level: l + 1, Open: true}
		for _, r := range waiting[l][:fanOut] {
			r.Into = begun.Number
			begun.include(r.First)
			begun.include(r.Last)
		}
		g.Runs = append(g.Runs, begun)
		return &g.Runs[len(g.Runs)-1]
	}
	return into
}

// flush adds the changed blocks to a batch. Pairs of a group that a block has
// many of become entries.
func (w *groupBatch) flush(b *batch) {
	for _, key := range slices.Sorted(maps.Keys(w.dirty)) {
		pairs := w.pairs[key]
		slices.Sort(pairs)
		kept := pairs[:0]
		for len(pairs) > 0 {
			group := firstGroup(pairs)
			pairs = pairs[len(group):]
			if len(group) <= commonGroup {
				kept = append(kept, group...)
				continue
			}
			for _, pair := range group {
				b.put = append(b.put, store.Entry{Kind: w.g.Kind, Key: pair, Move: store.Derived})
			}
		}
		switch {
		case len(kept) > 0:
			b.put = append(b.put, store.Entry{Kind: w.g.blocks(), Key: key, Data: []byte(strings.Join(kept, "\n")), Move: store.Derived})
		case w.stored[key]:
			b.remove[w.g.blocks()] = append(b.remove[w.g.blocks()], key)
		}
	}
}

// firstGroup returns the pairs of the first group of a sorted list.
func firstGroup(pairs []string) []string {
	term, _ := splitPair(pairs[0])
	n := 1
	for n < len(pairs) && strings.HasPrefix(pairs[n], term+" ") {
		n++
	}
	return pairs[:n]
}

// groupPairs returns the pairs of a group in the blocks of a generation, sorted.
func groupPairs(ctx context.Context, r store.Reader, kind, term string) (pairs []string, err error) {
	st, _, err := loadState(ctx, r, wordsName)
	if err != nil {
		return nil, err
	}
	for _, g := range []*generation{st.Live, st.Next} {
		if g == nil || g.Kind != kind || len(g.Runs) == 0 {
			continue
		}
		var keys []string
		for _, r := range g.Runs {
			keys = append(keys, r.key(term))
		}
		entries, err := r.Entries(ctx, store.EntryQuery{Kind: g.blocks(), Keys: keys})
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			for pair := range strings.SplitSeq(string(e.Data), "\n") {
				if strings.HasPrefix(pair, term+" ") {
					pairs = append(pairs, pair)
				}
			}
		}
	}
	slices.Sort(pairs)
	return pairs, nil
}
