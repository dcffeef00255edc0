package catalog

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/seed-d8a106b4/licensekit/store"
)

// The entry that holds the state of the index. Every Update that writes to the
// index also changes its state, so an index whose state has not changed has not
// changed.
const (
	stateKind = "catalog"
	stateKey  = "licenses"
)

// A state says which entries belong to the index. It is the data of an entry.
type state struct {
	Last int         `json:"last"`           // number of the newest generation
	Live *generation `json:"live,omitempty"` // answers; nil before the first build is complete
	Next *generation `json:"next,omitempty"` // being built; nil: none
	Old  []string    `json:"old,omitempty"`  // kinds whose entries are to be deleted
}

// A generation is one build of the index. The zero generation is what the first
// release maintained.
type generation struct {
	Kind     string `json:"kind"`               // what the kinds of its entries begin with
	Version  int    `json:"version"`            // that made it
	Seq      int64  `json:"seq"`                // the last event that was read
	Scanning bool   `json:"scanning,omitempty"` // licenses after Scanned are missing
	Scanned  string `json:"scanned,omitempty"`  // ID of the last license that was scanned

	Runs    []run `json:"runs,omitempty"` // of postings
	LastRun int   `json:"last_run,omitempty"`
}

// isFirst reports whether g is what the first release maintained.
func (g *generation) isFirst() bool { return g.Kind == "" }

// The kinds of the entries of g: counts, the names that words find, blocks of
// postings, and the terms of each license by its ID.
func (g *generation) counts() string  { return strings.TrimPrefix(g.Kind+".count", ".") }
func (g *generation) names() string   { return g.Kind + ".name" }
func (g *generation) words() string   { return strings.TrimPrefix(g.Kind+".word", ".") }
func (g *generation) records() string { return g.Kind + ".license" }

// kinds returns the kinds of all entries of g.
func (g *generation) kinds() []string {
	if g.isFirst() {
		return []string{g.counts(), g.words()}
	}
	return []string{g.counts(), g.names(), g.words(), g.records()}
}

// load returns the state of the index and the data of its entry; nil if there is
// none.
func load(ctx context.Context, r store.Reader) (st state, data []byte, err error) {
	e, err := r.Entry(ctx, stateKind, stateKey)
	if errors.Is(err, store.ErrNotFound) {
		return state{}, nil, nil
	}
	if err != nil {
		return state{}, nil, err
	}
	if err := json.Unmarshal(e.Data, &st); err != nil {
		return state{}, nil, fmt.Errorf("state of the index: %w", err)
	}
	return st, e.Data, nil
}

// entry returns the entry that holds st.
func (st *state) entry() (store.Entry, error) {
	data, err := json.Marshal(st)
	return store.Entry{Kind: stateKind, Key: stateKey, Data: data, Move: store.Derived}, err
}

// seq returns the last event that the index contains; zero during a build.
func (st *state) seq() int64 {
	if st.Live == nil || st.Next != nil {
		return 0
	}
	return st.Live.Seq
}

// covers reports whether the index contains every change through an event.
func (st *state) covers(target int64) bool {
	return st.Next == nil && st.Live != nil && st.Live.Version == version && st.Live.Seq >= target
}

// answering returns the generation that answers.
func (st *state) answering() *generation {
	return cmp.Or(st.Live, st.Next, &generation{})
}

// begin begins a new build at an event. It discards an unfinished one.
func (st *state) begin(newest int64) {
	if st.Next != nil {
		st.Old = append(st.Old, st.Next.kinds()...)
	}
	st.Last++
	st.Next = &generation{Kind: fmt.Sprintf("index.%d", st.Last), Version: version, Seq: newest, Scanning: true}
}

// finish puts the complete build in the place of the generation that answers.
func (st *state) finish() {
	if st.Live != nil {
		st.Old = append(st.Old, st.Live.kinds()...)
	}
	st.Live, st.Next = st.Next, nil
}
