package operator

import (
	"context"

	"github.com/seed-d8a106b4/licensekit/store"
)

// recordingStore records the calls to a store in order.
type recordingStore struct {
	store.Store
	calls []string
}

func (s *recordingStore) Entry(ctx context.Context, kind, key string) (store.Entry, error) {
	s.calls = append(s.calls, "Entry "+kind)
	return s.Store.Entry(ctx, kind, key)
}

func (s *recordingStore) Update(ctx context.Context, fn func(store.Tx) error) error {
	s.calls = append(s.calls, "Update")
	return s.Store.Update(ctx, func(tx store.Tx) error { return fn(recordingTx{tx, s}) })
}

type recordingTx struct {
	store.Tx
	s *recordingStore
}

func (tx recordingTx) Entry(ctx context.Context, kind, key string) (store.Entry, error) {
	tx.s.calls = append(tx.s.calls, "tx.Entry "+kind)
	return tx.Tx.Entry(ctx, kind, key)
}

func (tx recordingTx) Entries(ctx context.Context, q store.EntryQuery) ([]store.Entry, error) {
	tx.s.calls = append(tx.s.calls, "tx.Entries "+q.Kind)
	return tx.Tx.Entries(ctx, q)
}

func (tx recordingTx) PutEntries(ctx context.Context, entries ...store.Entry) error {
	for _, e := range entries {
		tx.s.calls = append(tx.s.calls, "tx.PutEntries "+e.Kind)
	}
	return tx.Tx.PutEntries(ctx, entries...)
}

func (tx recordingTx) DeleteEntries(ctx context.Context, kind string, keys ...string) error {
	tx.s.calls = append(tx.s.calls, "tx.DeleteEntries "+kind)
	return tx.Tx.DeleteEntries(ctx, kind, keys...)
}

func (tx recordingTx) AppendEvents(ctx context.Context, events ...store.Event) ([]int64, error) {
	for _, e := range events {
		tx.s.calls = append(tx.s.calls, "tx.AppendEvents "+e.Type)
	}
	return tx.Tx.AppendEvents(ctx, events...)
}
