package storetest

import (
	"context"
	"sync/atomic"

	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/storetest/internal/pick"
)

// Handles returns a store that distributes its calls over the given stores in
// rotation. They must be handles on the same data, such as a file or a database
// opened twice. Under [Run] it shows that the rules hold across handles.
//
// The caller closes the handles.
func Handles(handles ...store.Store) store.Store {
	var calls atomic.Uint64
	next := func() store.Store { return handles[calls.Add(1)%uint64(len(handles))] }
	return turning{pick.Reader{From: func() store.Reader { return next() }}, next}
}

type turning struct {
	pick.Reader
	next func() store.Store
}

func (h turning) View(ctx context.Context, fn func(store.Reader) error) error {
	return h.next().View(ctx, fn)
}

func (h turning) Update(ctx context.Context, fn func(store.Tx) error) error {
	return h.next().Update(ctx, fn)
}
