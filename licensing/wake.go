package licensing

import (
	"context"

	"github.com/seed-d8a106b4/licensekit/store"
)

// A wakingStore calls wake after each Update that appended an event.
type wakingStore struct {
	store.Store
	wake func()
}

// Update implements [store.Store].
func (s wakingStore) Update(ctx context.Context, fn func(store.Tx) error) error {
	var appended bool
	err := s.Store.Update(ctx, func(tx store.Tx) error {
		appended = false // an earlier attempt was rolled back
		return fn(appendingTx{tx, &appended})
	})
	if err == nil && appended {
		s.wake()
	}
	return err
}

// An appendingTx records whether an event was appended.
type appendingTx struct {
	store.Tx
	appended *bool
}

// AppendEvents implements [store.Writer].
func (tx appendingTx) AppendEvents(ctx context.Context, events ...store.Event) ([]int64, error) {
	*tx.appended = true
	return tx.Tx.AppendEvents(ctx, events...)
}
