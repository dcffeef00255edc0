package catalog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/seed-d8a106b4/licensekit/store"
)

// stateKind is the kind of the entries that hold the state of each index. Key is
// the name of the index. Every Update that writes to an index also changes its
// state, so an index whose state has not changed has not changed.
const stateKind = "catalog"

// A state says which entries belong to an index. It is the data of an entry.
type state struct {
	Last int         `json:"last"`           // number of the newest generation
	Live *generation `json:"live,omitempty"` // answers; nil before the first build is complete
	Next *generation `json:"next,omitempty"` // being built; nil: none
	Old  []string    `json:"old,omitempty"`  // kinds whose entries are to be deleted
}

// A generation is one build of an index. Entries of its Kind hold counts or blocks
// of postings; entries of the kind records hold the terms of each license, by
// license ID.
type generation struct {
	Kind     string `json:"kind"`
	Version  int    `json:"version"`            // of the rules that made the terms
	Seq      int64  `json:"seq"`                // the last event that was read
	Scanning bool   `json:"scanning,omitempty"` // licenses after Scanned are missing
	Scanned  string `json:"scanned,omitempty"`  // ID of the last license that was scanned

	Runs    []run `json:"runs,omitempty"` // of postings
	LastRun int   `json:"last_run,omitempty"`
}

// records returns the kind of the entries with the terms of each license.
func (g *generation) records() string { return g.Kind + ".license" }

// seq returns the last event that the index has read after the batch.
func (b *batch) seq() int64 {
	if b.after.Live == nil || b.after.Next != nil {
		return 0
	}
	return b.after.Live.Seq
}

// kinds returns the kinds of all entries of g.
func (g *generation) kinds() []string { return []string{g.Kind, g.records(), g.names()} }

// load returns the state of the index and the data of its entry; nil if there is
// none.
func (ix *Index) load(ctx context.Context, r store.Reader) (st state, data []byte, err error) {
	return loadState(ctx, r, ix.name)
}

func loadState(ctx context.Context, r store.Reader, name string) (st state, data []byte, err error) {
	e, err := r.Entry(ctx, stateKind, name)
	if errors.Is(err, store.ErrNotFound) {
		return state{}, nil, nil
	}
	if err != nil {
		return state{}, nil, err
	}
	if err := json.Unmarshal(e.Data, &st); err != nil {
		return state{}, nil, fmt.Errorf("state of the index %s: %w", name, err)
	}
	return st, e.Data, nil
}

// entry returns the entry that holds st.
func (ix *Index) entry(st state) (store.Entry, error) {
	data, err := json.Marshal(st)
	return store.Entry{Kind: stateKind, Key: ix.name, Data: data, Move: store.Derived}, err
}

// answering returns the generation that answers.
func (ix *Index) answering(st state) *generation {
	switch {
	case st.Live != nil:
		return st.Live
	case st.Next != nil:
		return st.Next
	}
	return &generation{Kind: ix.before}
}

// begin begins a new build at an event. It discards an unfinished one.
func (ix *Index) begin(st *state, newest int64) {
	if st.Next != nil {
		st.Old = append(st.Old, st.Next.kinds()...)
	}
	st.Last++
	st.Next = &generation{Kind: fmt.Sprintf("%s.%d", ix.name, st.Last), Version: ix.version, Seq: newest, Scanning: true}
}

// finish puts the complete build in the place of the generation that answers.
func (st *state) finish() {
	if st.Live != nil {
		st.Old = append(st.Old, st.Live.kinds()...)
	}
	st.Live, st.Next = st.Next, nil
}
