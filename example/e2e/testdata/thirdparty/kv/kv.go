// Package kv makes a backend for licensekit of any ordered map with transactions, such
// as Badger, bbolt, etcd or FoundationDB: copy its files and write an [Engine].
//
// Every record is one row, its JSON, under a key of its own. Every index has one row
// for each record in it, whose value is the record's own key.
package kv

import (
	"context"
	"fmt"
	"io"

	"github.com/seed-d8a106b4/licensekit/store"
)

// An Engine is an ordered map from strings to bytes with serializable transactions.
type Engine interface {
	// View calls fn with a Reader of one snapshot.
	View(ctx context.Context, fn func(Reader) error) error
	// Update calls fn with a Tx that sees its own rows, and commits them if fn returns
	// nil. It may call fn again after a conflict, and returns fn's error.
	Update(ctx context.Context, fn func(Tx) error) error
	io.Closer
}

// A Reader reads rows. Its caller does not write to the values.
type Reader interface {
	// Get returns the values at the keys, nil where there is none.
	Get(ctx context.Context, keys ...string) ([][]byte, error)
	// Scan returns the first rows from lo up to and without hi, at most limit of them,
	// in the order of their keys or in reverse.
	Scan(ctx context.Context, lo, hi string, descending bool, limit int) ([]Row, error)
}

// A Tx reads and writes rows.
type Tx interface {
	Reader
	// Set writes rows. It removes those without a value.
	Set(ctx context.Context, rows ...Row) error
}

// A Row is a key and its value, which is nil or not empty.
type Row struct {
	Key   string
	Value []byte
}

// A Store is a store.Store on an Engine.
type Store struct {
	store.Reader
	engine Engine
}

var _ store.Store = (*Store)(nil)

// New returns a Store on an engine.
func New(e Engine) *Store {
	s := &Store{engine: e}
	s.Reader = store.ReaderFromView(s.View)
	return s
}

// Close closes the engine.
func (s *Store) Close() error { return s.engine.Close() }

// View implements store.Store.
func (s *Store) View(ctx context.Context, fn func(store.Reader) error) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("kv: view: %w", err)
	}
	return s.engine.View(ctx, func(r Reader) error {
		return (&tx{r: r}).run(func(t *tx) error { return fn(t) })
	})
}

// Update implements store.Store.
func (s *Store) Update(ctx context.Context, fn func(store.Tx) error) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("kv: update: %w", err)
	}
	return s.engine.Update(ctx, func(w Tx) error {
		return (&tx{r: w, w: w}).run(func(t *tx) error { return fn(t) })
	})
}

// run calls fn, after which t is over. It fails if a call failed after which nothing
// may be kept (rule 28).
func (t *tx) run(fn func(t *tx) error) error {
	defer t.end()
	if err := fn(t); err != nil {
		return err
	}
	t.end()
	return t.failed
}
