package storetest

import (
	"context"
	"sync/atomic"

	"github.com/seed-d8a106b4/licensekit/store"
)

// Handles returns a store whose calls go to the given stores in turn. They are
// to be handles on the same data: two openings of one file, or of one database
// as by two processes. Under [Run] it shows that the rules hold across them.
//
// Closing is left to whoever opened the handles.
func Handles(handles ...store.Store) store.Store {
	return &turning{handles: handles}
}

type turning struct {
	handles []store.Store
	calls   atomic.Uint64
}

// next returns the handle for one call.
func (h *turning) next() store.Store {
	return h.handles[h.calls.Add(1)%uint64(len(h.handles))]
}

func (h *turning) View(ctx context.Context, fn func(store.Reader) error) error {
	return h.next().View(ctx, fn)
}

func (h *turning) Update(ctx context.Context, fn func(store.Tx) error) error {
	return h.next().Update(ctx, fn)
}

func (h *turning) License(ctx context.Context, id string) (store.License, error) {
	return h.next().License(ctx, id)
}

func (h *turning) LicenseByKey(ctx context.Context, key string) (store.License, error) {
	return h.next().LicenseByKey(ctx, key)
}

func (h *turning) Licenses(ctx context.Context, q store.LicenseQuery) ([]store.License, error) {
	return h.next().Licenses(ctx, q)
}

func (h *turning) Activation(ctx context.Context, licenseID, fingerprint string) (store.Activation, error) {
	return h.next().Activation(ctx, licenseID, fingerprint)
}

func (h *turning) Activations(ctx context.Context, q store.ActivationQuery) ([]store.Activation, error) {
	return h.next().Activations(ctx, q)
}

func (h *turning) CountActivations(ctx context.Context, q store.ActivationQuery) (int, error) {
	return h.next().CountActivations(ctx, q)
}

func (h *turning) Events(ctx context.Context, q store.EventQuery) ([]store.Event, error) {
	return h.next().Events(ctx, q)
}

func (h *turning) Entry(ctx context.Context, kind, key string) (store.Entry, error) {
	return h.next().Entry(ctx, kind, key)
}

func (h *turning) Entries(ctx context.Context, q store.EntryQuery) ([]store.Entry, error) {
	return h.next().Entries(ctx, q)
}

func (h *turning) Delivery(ctx context.Context, id string) (store.Delivery, error) {
	return h.next().Delivery(ctx, id)
}

func (h *turning) Deliveries(ctx context.Context, q store.DeliveryQuery) ([]store.Delivery, error) {
	return h.next().Deliveries(ctx, q)
}

func (h *turning) Tallies(ctx context.Context, q store.TallyQuery) ([]store.Tally, error) {
	return h.next().Tallies(ctx, q)
}
