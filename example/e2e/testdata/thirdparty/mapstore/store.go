package mapstore

import (
	"context"
	"fmt"
	"maps"
	"sync/atomic"

	"github.com/seed-d8a106b4/licensekit/store"
)

// A Store keeps its records in one map. [New] makes one.
type Store struct {
	reader
	current atomic.Pointer[records]
}

var _ store.Store = (*Store)(nil)

// records is everything there is at one moment. Once it is current it is
// never changed again.
type records struct {
	rows    map[name]any // a store.License, store.Activation, …, never shared with a caller
	lastSeq int64        // of the event feed
}

// A name is where a record is in the map. The table keeps apart what would
// otherwise have the same name.
type name struct{ table, group, id string }

// New returns an empty store.
func New() *Store {
	s := &Store{}
	s.current.Store(&records{})
	s.reader.records = func(ctx context.Context) (*records, error) { return s.current.Load(), ctx.Err() }
	return s
}

// View runs fn on the records there are now.
func (s *Store) View(ctx context.Context, fn func(store.Reader) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	t := newTx(s.current.Load())
	defer t.over.Store(true)
	return fn(t.reader)
}

// attempts bounds how often an update runs. Each failed attempt means that
// another update has succeeded.
const attempts = 10_000

// Update runs fn on a copy until the copy can be put in place.
func (s *Store) Update(ctx context.Context, fn func(store.Tx) error) error {
	for range attempts {
		if err := ctx.Err(); err != nil {
			return err
		}
		before := s.current.Load()
		after := &records{rows: maps.Clone(before.rows), lastSeq: before.lastSeq}
		if after.rows == nil {
			after.rows = map[name]any{}
		}
		if err := attempt(after, fn); err != nil {
			return err
		}
		if s.current.CompareAndSwap(before, after) {
			return nil
		}
	}
	return fmt.Errorf("mapstore: update lost %d times: %w", attempts, store.ErrConflict)
}

func attempt(r *records, fn func(store.Tx) error) error {
	t := newTx(r)
	defer t.over.Store(true)
	return fn(t)
}

// A tx reads and writes one records until it is over.
type tx struct {
	reader
	over atomic.Bool
}

func newTx(r *records) *tx {
	t := &tx{}
	t.reader.records = func(ctx context.Context) (*records, error) {
		if t.over.Load() {
			return nil, store.ErrTxDone
		}
		return r, ctx.Err()
	}
	return t
}
