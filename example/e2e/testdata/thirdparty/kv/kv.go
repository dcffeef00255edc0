// Package kv makes a backend for licensekit of an ordered map with serializable
// transactions, such as bbolt or InnoDB of MySQL and MariaDB: copy its files and write an
// [Engine].
//
// The map must take keys of 3,072 bytes, values of 1.5 MiB and transactions of 24 MiB, and
// an insert into a range must conflict with an Update that found the range empty. On
// Badger, the engine runs one Update at a time under a lock of its own, and MemTableSize is
// at least 160 MiB.
//
// Every record is one row, its JSON, under a key of its own. Every index has one row
// for each record in it, whose value is the record's own key. A call reads the rows that it
// needs in one Get, and an Update writes in one Set, at its end.
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
	// Update calls fn with a Tx, and commits its rows if fn returns nil. It may call fn
	// again after a conflict, and returns fn's error.
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
	// Set writes rows, and removes the ones without a value. An Update calls it at most
	// once, after its reads.
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
		t := &tx{r: w, known: map[string][]byte{}, own: map[string][]byte{}}
		if err := t.run(func(t *tx) error { return fn(t) }); err != nil || len(t.own) == 0 {
			return err
		}
		var rows []Row
		for _, k := range t.ownKeys() {
			rows = append(rows, Row{k, t.own[k]})
		}
		if err := w.Set(context.WithoutCancel(ctx), rows...); err != nil { // which undoes the Update (rule 28)
			return fmt.Errorf("kv: update: %w", err)
		}
		return nil
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
