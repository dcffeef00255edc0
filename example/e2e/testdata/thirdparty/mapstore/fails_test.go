package mapstore

import (
	"context"
	"errors"
	"testing"

	"example.com/thirdparty/kv"

	"github.com/seed-d8a106b4/licensekit/store"
)

var errFull = errors.New("full")

// full is an engine that can write nothing.
type full struct{ *engine }

func (f full) Update(ctx context.Context, fn func(kv.Tx) error) error {
	return f.engine.Update(ctx, func(t kv.Tx) error { return fn(writesNothing{t}) })
}

type writesNothing struct{ kv.Tx }

func (writesNothing) Set(context.Context, ...kv.Row) error { return errFull }

// TestFailedWriteUndoesTheUpdate writes at the end of an Update, after its function has
// returned nil.
func TestFailedWriteUndoesTheUpdate(t *testing.T) {
	ctx := t.Context()
	e := &engine{}
	err := kv.New(full{e}).Update(ctx, func(tx store.Tx) error { return tx.PutEntries(ctx, store.Entry{Kind: "kind", Key: "key"}) })
	if !errors.Is(err, errFull) {
		t.Errorf("Update returned %v, want %v", err, errFull)
	}
	if _, err := kv.New(e).Entry(ctx, "kind", "key"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("Entry returned %v, want %v", err, store.ErrNotFound)
	}
}
