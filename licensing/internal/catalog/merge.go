package catalog

import (
	"context"
	"slices"

	"github.com/seed-d8a106b4/licensekit/store"
)

// mergeBlocks is how many blocks of each run are merged in one batch at most.
const mergeBlocks = 48

// addPostings adds sorted postings to a batch: as a run, or to the newest run if
// both are small.
func (g *generation) addPostings(ctx context.Context, r store.Reader, list []posting, b *batch) error {
	if len(list) == 0 {
		return nil
	}
	last := len(g.Runs) - 1
	if last >= 0 && g.Runs[last].Level == 0 && g.Runs[last].Into == 0 && g.Runs[last].Size+len(list) <= smallRun {
		old := g.Runs[last]
		entries, err := r.Entries(ctx, old.blocks(g.words()))
		if err != nil {
			return err
		}
		var before []posting
		for _, e := range entries {
			b.remove[g.words()] = append(b.remove[g.words()], e.Key)
			if before, err = decodeBlock(before, e.Data); err != nil {
				return err
			}
		}
		g.Runs[last].Size, g.Runs[last].Gone = 0, 0
		list = mergeLists([][]posting{before, list}, last == 0)
	} else {
		g.LastRun++
		last++
		g.Runs = append(g.Runs, run{Number: g.LastRun})
	}
	g.put(&g.Runs[last], list, b)
	return nil
}

// put adds blocks at the end of a run to a batch.
func (g *generation) put(r *run, list []posting, b *batch) {
	r.Size += len(list)
	for _, p := range list {
		if p.gone {
			r.Gone++
		}
	}
	for len(list) > 0 {
		data, n := encodeBlock(list)
		b.put = append(b.put, store.Entry{Kind: g.words(), Key: r.key(list[n-1].pair()), Data: data, Move: store.Derived})
		list = list[n:]
	}
}

// mergeRuns adds the merge of the next blocks to a batch. It reports whether there
// is anything to merge.
func (g *generation) mergeRuns(ctx context.Context, r store.Reader, b *batch) (bool, error) {
	into := g.merging()
	if into == nil {
		return false, nil
	}
	var sources [][]store.Entry // blocks of each run
	bound := ""                 // the pair up to which all runs were read; empty: they were read to the end
	for _, from := range g.Runs {
		if from.Into != into.Number {
			continue
		}
		q := from.blocks(g.words())
		q.Limit = mergeBlocks
		if into.Done != "" {
			q.After.ID = from.key(into.Done)
		}
		entries, err := r.Entries(ctx, q)
		if err != nil {
			return false, err
		}
		if len(entries) == mergeBlocks {
			if last := lastPair(entries[len(entries)-1]); bound == "" || last < bound {
				bound = last
			}
		}
		sources = append(sources, entries)
	}
	lists := make([][]posting, len(sources))
	for i, entries := range sources {
		size := 0
		for _, e := range entries {
			size += len(e.Data)
		}
		list := make([]posting, 0, size/fewestBytes)
		for _, e := range entries {
			var err error
			if list, err = decodeBlock(list, e.Data); err != nil {
				return false, err
			}
			if bound == "" || lastPair(e) <= bound {
				b.remove[g.words()] = append(b.remove[g.words()], e.Key)
			}
		}
		if into.Done != "" {
			list = list[countTo(list, into.Done):]
		}
		if bound != "" {
			list = list[:countTo(list, bound)]
		}
		lists[i] = list
	}
	g.put(into, mergeLists(lists, g.Runs[0].Into == into.Number), b)
	if into.Done = bound; bound != "" {
		return true, nil
	}
	into.Open = false
	number, empty := into.Number, into.Size == 0 // the run that into points to changes
	g.Runs = slices.DeleteFunc(g.Runs, func(r run) bool { return r.Into == number || empty && r.Number == number })
	return true, nil
}

// countTo returns how many postings of a sorted list are at or below a pair.
func countTo(list []posting, pair string) int {
	n, found := slices.BinarySearchFunc(list, pair, posting.compareTo)
	if found {
		n++
	}
	return n
}

// mergeLists merges sorted lists. Of equal pairs, that of the last list counts. If
// nothing is older than the lists, postings that are gone are left out.
func mergeLists(lists [][]posting, oldest bool) []posting {
	n := 0
	for _, list := range lists {
		n += len(list)
	}
	merged := make([]posting, 0, n)
	for {
		first := -1
		for i, list := range lists {
			if len(list) > 0 && (first < 0 || list[0].compare(lists[first][0]) <= 0) {
				first = i
			}
		}
		if first < 0 {
			return merged
		}
		p := lists[first][0]
		for i, list := range lists[:first] {
			if len(list) > 0 && list[0].compare(p) == 0 {
				lists[i] = list[1:]
			}
		}
		lists[first] = lists[first][1:]
		if !p.gone || !oldest {
			merged = append(merged, p)
		}
	}
}
