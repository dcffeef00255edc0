package kv

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/seed-d8a106b4/licensekit/store"
)

// A tx is the Reader of a View or the Tx of an Update. Its methods are the contract's.
type tx struct {
	mu     sync.Mutex      // held during a call
	r      Reader          // w in an Update
	w      Tx              // nil in a View
	ctx    context.Context // of the call
	over   bool
	wrote  bool  // the call has written
	failed error // the error of a call after which nothing may be kept (rule 28)
}

// end makes every later call return ErrTxDone.
func (t *tx) end() {
	t.mu.Lock()
	t.over = true
	t.mu.Unlock()
}

// do runs a method, unless the transaction or the context of the call has ended.
func do[R any](ctx context.Context, t *tx, what string, f func() (R, error)) (r R, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over {
		err = store.ErrTxDone
	} else if err = ctx.Err(); err == nil {
		t.ctx, t.wrote = ctx, false
		if r, err = whole(f); err == nil {
			return r, nil
		}
		if !errors.Is(err, store.ErrNotFound) && !errors.Is(err, store.ErrExists) && !errors.Is(err, errRefused) && (t.wrote || ctx.Err() == nil) {
			t.failed = fmt.Errorf("kv: %s: %w", what, err)
		}
	}
	var none R
	return none, fmt.Errorf("kv: %s: %w", what, err)
}

// whole calls f, and returns the error of an engine with which it panicked.
func whole[R any](f func() (R, error)) (r R, err error) {
	defer func() {
		if v := recover(); v != nil {
			failed, ok := v.(failure)
			if !ok {
				panic(v)
			}
			err = failed.error
		}
	}()
	return f()
}

// read returns the values at keys, nil where there is none. It panics with a failure.
func (t *tx) read(keys ...string) [][]byte {
	v, err := t.r.Get(t.ctx, keys...)
	if err != nil {
		panic(failure{err})
	}
	return v
}

// A failure is an error of the engine, with which the iterators panic.
type failure struct{ error }

func (t *tx) has(key string) bool { return t.read(key)[0] != nil }

// get returns the record at a key, or that of a row in an index.
func get[R any](t *tx, key string) (record R, err error) {
	b := t.read(key)[0]
	if b != nil && isIndex(key) {
		if b = t.read(string(b))[0]; b == nil {
			return record, fmt.Errorf("an index has a record that is missing: %w", store.ErrDamaged)
		}
	}
	if b == nil {
		return record, store.ErrNotFound
	}
	return decode[R](b)
}
