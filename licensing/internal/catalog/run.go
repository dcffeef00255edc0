package catalog

import (
	"fmt"
	"slices"
	"strings"

	"github.com/seed-d8a106b4/licensekit/store"
)

// A license has about ten terms. With an entry for each, a change would write to
// as many random places of the store. So the postings of a batch are written
// together instead, as a run: sorted, in blocks. Each fanOut runs of a level are
// merged into one run of the next level, a few blocks at a time. A posting is
// written once for each level, always with thousands of others.
//
// Runs stand in the order of their age. Of postings with the same pair, that of
// the newest run counts.
const (
	fanOut   = 6   // runs that are merged into one
	smallRun = 100 // postings up to which a batch is added to the newest run
	maxRuns  = 18  // runs above which merging comes before new events
)

// A run is a list of sorted postings in entries, one for each block. Key is the
// number of the run, a space and the last pair of the block.
type run struct {
	Number int    `json:"n"`
	Level  int    `json:"l,omitempty"`
	Size   int    `json:"s"`           // postings
	Gone   int    `json:"g,omitempty"` // of these, how many are gone
	Into   int    `json:"i,omitempty"` // number of the run that it is being merged into
	Open   bool   `json:"o,omitempty"` // others are being merged into it
	Done   string `json:"d,omitempty"` // if Open: the pair up to which they were merged
}

// key returns the key of a block with this last pair. No block that contains the
// pair has a lower key.
func (r run) key(pair string) string { return fmt.Sprintf("%08x ", r.Number) + pair }

// lastPair returns the last pair of a block.
func lastPair(e store.Entry) string {
	_, pair, _ := strings.Cut(e.Key, " ")
	return pair
}

// blocks selects all blocks of the run.
func (r run) blocks(kind string) store.EntryQuery {
	return store.EntryQuery{Kind: kind, From: r.key(""), Before: store.PrefixEnd(r.key(""))}
}

// low returns the pair up to which the postings of a run have moved to the run
// that it is being merged into.
func (g *generation) low(r run) string {
	if r.Into != 0 {
		for _, into := range g.Runs {
			if into.Number == r.Into {
				return into.Done
			}
		}
	}
	return ""
}

// merging returns the run of the lowest level that others are merged into, and
// begins it if enough runs wait. It returns nil if there is nothing to merge.
func (g *generation) merging() *run {
	end := len(g.Runs) // of the runs of a level that wait
	for i := end - 1; i >= 0; i-- {
		r := &g.Runs[i]
		if r.Open {
			return r
		}
		if r.Into != 0 || r.Level != g.Runs[end-1].Level {
			end = i + 1
		}
		older := i > 0 && g.Runs[i-1].Level == r.Level && g.Runs[i-1].Into == 0
		if end-i < fanOut || older {
			continue
		}
		if open := g.open(r.Level + 1); open != nil {
			return open
		}
		return g.beginMerge(i, i+fanOut)
	}
	return nil
}

// open returns the run of a level that others are merged into, or nil.
func (g *generation) open(level int) *run {
	for i := range g.Runs {
		if r := &g.Runs[i]; r.Open && r.Level == level {
			return r
		}
	}
	return nil
}

// beginMerge begins to merge the runs from one index to below another.
func (g *generation) beginMerge(from, to int) *run {
	g.LastRun++
	into := run{Number: g.LastRun, Open: true}
	for i := range g.Runs[from:to] {
		r := &g.Runs[from+i]
		r.Into = into.Number
		into.Level = max(into.Level, r.Level+1)
	}
	g.Runs = slices.Insert(g.Runs, to, into)
	return &g.Runs[to]
}
