// Package mapstore is a backend for licensekit in another module: the contract of
// package store, which package kv derives from an ordered map, and a map in memory.
//
// There is no lock. An Update runs on the current tree, of which it copies what it
// changes, and puts its own in place unless another Update has done so meanwhile; then
// its function runs again. It keeps every rule of package store except the first:
// nothing outlives the process.
package mapstore

import (
	"context"
	"fmt"
	"hash/maphash"
	"sync/atomic"

	"example.com/thirdparty/kv"
	"github.com/seed-d8a106b4/licensekit/store"
)

// New returns an empty store.
func New() *kv.Store { return kv.New(&engine{}) }

// An engine is a kv.Engine.
type engine struct {
	current atomic.Pointer[node]
	closed  atomic.Bool
}

// A node is the root of a tree of rows, or nil. It is never changed: it is ordered by
// key from left to right, and by a random weight from top to bottom, which keeps the
// tree balanced.
type node struct {
	kv.Row
	weight      uint64
	left, right *node
}

var seed = maphash.MakeSeed()

// get returns the value at a key.
func (n *node) get(key string) []byte {
	for n != nil && n.Key != key {
		if key < n.Key {
			n = n.left
		} else {
			n = n.right
		}
	}
	if n == nil {
		return nil
	}
	return n.Value
}

// split returns the rows before a key, the row there, and the rows after it.
func (n *node) split(key string) (before, at, after *node) {
	if n == nil {
		return nil, nil, nil
	}
	top := *n
	switch {
	case key < n.Key:
		before, at, top.left = n.left.split(key)
		return before, at, &top
	case key > n.Key:
		top.right, at, after = n.right.split(key)
		return &top, at, after
	}
	return n.left, n, n.right
}

// join returns the rows of n and those of m, which come after them.
func (n *node) join(m *node) *node {
	switch {
	case n == nil:
		return m
	case m == nil:
		return n
	case n.weight > m.weight:
		top := *n
		top.right = n.right.join(m)
		return &top
	}
	top := *m
	top.left = n.join(m.left)
	return &top
}

// walk calls yield with the rows from lo up to and without hi, until it returns false.
func (n *node) walk(lo, hi string, descending bool, yield func(kv.Row) bool) bool {
	if n == nil {
		return true
	}
	before := func() bool { return n.Key < lo || n.left.walk(lo, hi, descending, yield) }
	here := func() bool { return n.Key < lo || n.Key >= hi || yield(n.Row) }
	after := func() bool { return n.Key >= hi || n.right.walk(lo, hi, descending, yield) }
	if descending {
		return after() && here() && before()
	}
	return before() && here() && after()
}

// Close makes later calls fail.
func (e *engine) Close() error {
	e.closed.Store(true)
	return nil
}

func (e *engine) open(ctx context.Context) error {
	if e.closed.Load() {
		return fmt.Errorf("mapstore: closed: %w", store.ErrUnavailable)
	}
	return ctx.Err()
}

// View implements kv.Engine.
func (e *engine) View(ctx context.Context, fn func(kv.Reader) error) error {
	if err := e.open(ctx); err != nil {
		return err
	}
	return fn(&tx{e.current.Load()})
}

// attempts bounds how often an Update runs. Each failed attempt means that another
// Update has succeeded.
const attempts = 10_000

// Update implements kv.Engine.
func (e *engine) Update(ctx context.Context, fn func(kv.Tx) error) error {
	for range attempts {
		if err := e.open(ctx); err != nil {
			return err
		}
		before := e.current.Load()
		t := &tx{before}
		if err := fn(t); err != nil {
			return err
		}
		if e.current.CompareAndSwap(before, t.rows) {
			return nil
		}
	}
	return fmt.Errorf("mapstore: update lost %d times: %w", attempts, store.ErrConflict)
}

// A tx reads and writes a tree of its own.
type tx struct{ rows *node }

func (t *tx) Get(_ context.Context, keys ...string) ([][]byte, error) {
	found := make([][]byte, len(keys))
	for i, key := range keys {
		found[i] = t.rows.get(key)
	}
	return found, nil
}

func (t *tx) Scan(_ context.Context, lo, hi string, descending bool, limit int) (rows []kv.Row, err error) {
	t.rows.walk(lo, hi, descending, func(r kv.Row) bool {
		rows = append(rows, r)
		return len(rows) < limit
	})
	return rows, nil
}

// maxKey is the most bytes of a key, as in the databases with the shortest ones.
const maxKey = 3072

func (t *tx) Set(_ context.Context, rows ...kv.Row) error {
	for _, r := range rows {
		if len(r.Key) > maxKey {
			return fmt.Errorf("mapstore: a key has %d bytes, and at most %d are possible", len(r.Key), maxKey)
		}
		before, _, after := t.rows.split(r.Key)
		if r.Value != nil {
			before = before.join(&node{Row: r, weight: maphash.String(seed, r.Key)})
		}
		t.rows = before.join(after)
	}
	return nil
}
