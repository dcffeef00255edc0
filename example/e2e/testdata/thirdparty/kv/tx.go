package kv

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/seed-d8a106b4/licensekit/store"
)

// A tx is the Reader of a View or the Tx of an Update. Its methods are the contract's.
type tx struct {
	mu     sync.Mutex // held during a call
	r      Reader
	ctx    context.Context // of the call
	over   bool
	wrote  bool  // the call has written
	failed error // the error of a call after which nothing may be kept (rule 28)

	// In an Update, the rows that were read ahead, and the rows that it writes at its end. A
	// row that is removed has no value.
	known, own map[string][]byte
	sorted     []string // the keys of own in order; nil if one was added since
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

// read returns the values at keys, nil where there is none, with one call for the keys
// that t does not know. It panics with a failure.
func (t *tx) read(keys ...string) [][]byte {
	values := make([][]byte, len(keys))
	var ask []string
	var at []int
	for i, k := range keys {
		v, ok := t.own[k]
		if !ok {
			v, ok = t.known[k]
		}
		if values[i] = v; !ok {
			ask, at = append(ask, k), append(at, i)
		}
	}
	if len(ask) == 0 {
		return values
	}
	got, err := t.r.Get(t.ctx, ask...)
	if err != nil {
		panic(failure{err})
	}
	for n, i := range at {
		values[i] = got[n]
	}
	return values
}

// ahead reads what a call will read in an Update, or what a Want names, and the last Seq,
// since most Updates append an event.
func (t *tx) ahead(keys ...string) {
	keys = append(keys, last)
	for i, v := range t.read(keys...) {
		t.known[keys[i]] = v
	}
}

// ownKeys returns the keys of own in order.
func (t *tx) ownKeys() []string {
	if t.sorted == nil {
		t.sorted = slices.Sorted(maps.Keys(t.own))
	}
	return t.sorted
}

// withOwn returns the rows of a span as this Update has left them.
func (t *tx) withOwn(rows []Row, s span, desc bool) []Row {
	own := t.ownKeys()
	i, _ := slices.BinarySearch(own, s.lo)
	j, _ := slices.BinarySearch(own, s.hi)
	if i >= j {
		return rows
	}
	var all []Row
	for _, r := range rows {
		if _, mine := t.own[r.Key]; !mine {
			all = append(all, r)
		}
	}
	for _, k := range own[i:j] {
		if v := t.own[k]; v != nil {
			all = append(all, Row{k, v})
		}
	}
	slices.SortFunc(all, func(a, b Row) int { return strings.Compare(a.Key, b.Key) })
	if desc {
		slices.Reverse(all)
	}
	return all
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
