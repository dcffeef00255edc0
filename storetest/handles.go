package storetest

import (
	"context"
	"sync/atomic"

	"github.com/seed-d8a106b4/licensekit/store"
)

// Handles returns a store that distributes its calls over the given stores in
// rotation. They must be handles on the same data, such as a file or a database
// opened twice. Under [Run] it shows that the rules hold across handles.
//
// The caller closes the handles.
func Handles(handles ...store.Store) store.Store {
	var calls atomic.Uint64
	next := func() store.Store { return handles[calls.Add(1)%uint64(len(handles))] }
	return turning{readingFrom{func() store.Reader { return next() }}, next}
}

type turning struct {
	readingFrom
	next func() store.Store
}

func (h turning) View(ctx context.Context, fn func(store.Reader) error) error {
	return h.next().View(ctx, fn)
}

func (h turning) Update(ctx context.Context, fn func(store.Tx) error) error {
	return h.next().Update(ctx, fn)
}

// readingFrom is a Reader that selects the Reader of each call.
type readingFrom struct{ reader func() store.Reader }

func (f readingFrom) License(ctx context.Context, id string) (store.License, error) {
	return f.reader().License(ctx, id)
}

func (f readingFrom) LicenseByKey(ctx context.Context, key string) (store.License, error) {
	return f.reader().LicenseByKey(ctx, key)
}

func (f readingFrom) Licenses(ctx context.Context, q store.LicenseQuery) ([]store.License, error) {
	return f.reader().Licenses(ctx, q)
}

func (f readingFrom) Activation(ctx context.Context, licenseID, fingerprint string) (store.Activation, error) {
	return f.reader().Activation(ctx, licenseID, fingerprint)
}

func (f readingFrom) Activations(ctx context.Context, q store.ActivationQuery) ([]store.Activation, error) {
	return f.reader().Activations(ctx, q)
}

func (f readingFrom) Events(ctx context.Context, q store.EventQuery) ([]store.Event, error) {
	return f.reader().Events(ctx, q)
}

func (f readingFrom) Entry(ctx context.Context, kind, key string) (store.Entry, error) {
	return f.reader().Entry(ctx, kind, key)
}

func (f readingFrom) Entries(ctx context.Context, q store.EntryQuery) ([]store.Entry, error) {
	return f.reader().Entries(ctx, q)
}
