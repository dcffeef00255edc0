// Package pick makes one store.Reader of many.
package pick

import (
	"context"

	"github.com/seed-d8a106b4/licensekit/store"
)

// Reader is a store.Reader that picks the Reader of each call.
type Reader struct{ From func() store.Reader }

func (r Reader) License(ctx context.Context, id string) (store.License, error) {
	return r.From().License(ctx, id)
}

func (r Reader) LicenseByKey(ctx context.Context, key string) (store.License, error) {
	return r.From().LicenseByKey(ctx, key)
}

func (r Reader) Licenses(ctx context.Context, q store.LicenseQuery) ([]store.License, error) {
	return r.From().Licenses(ctx, q)
}

func (r Reader) FindLicenses(ctx context.Context, q store.LicenseQuery) ([]store.License, store.Position, error) {
	return r.From().FindLicenses(ctx, q)
}

func (r Reader) CountLicenses(ctx context.Context, q store.LicenseQuery, edges ...store.Position) ([]int64, error) {
	return r.From().CountLicenses(ctx, q, edges...)
}

func (r Reader) LicenseNames(ctx context.Context, q store.NamesQuery) ([]store.NameCount, error) {
	return r.From().LicenseNames(ctx, q)
}

func (r Reader) Activation(ctx context.Context, licenseID, fingerprint string) (store.Activation, error) {
	return r.From().Activation(ctx, licenseID, fingerprint)
}

func (r Reader) Activations(ctx context.Context, q store.ActivationQuery) ([]store.Activation, error) {
	return r.From().Activations(ctx, q)
}

func (r Reader) Events(ctx context.Context, q store.EventQuery) ([]store.Event, error) {
	return r.From().Events(ctx, q)
}

func (r Reader) Entry(ctx context.Context, kind, key string) (store.Entry, error) {
	return r.From().Entry(ctx, kind, key)
}

func (r Reader) Entries(ctx context.Context, q store.EntryQuery) ([]store.Entry, error) {
	return r.From().Entries(ctx, q)
}
