package store_test

import (
	"context"
	"testing"

	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
	"github.com/seed-d8a106b4/licensekit/storetest"
)

// A viewStore has no reads of its own.
type viewStore struct {
	store.Reader
	inner store.Store
}

func (s viewStore) View(ctx context.Context, fn func(store.Reader) error) error {
	return s.inner.View(ctx, fn)
}

func (s viewStore) Update(ctx context.Context, fn func(store.Tx) error) error {
	return s.inner.Update(ctx, fn)
}

func TestReaderFromViewKeepsTheContract(t *testing.T) {
	storetest.Run(t, func(*testing.T) store.Store {
		inner := memory.New()
		return viewStore{store.ReaderFromView(inner.View), inner}
	})
}
