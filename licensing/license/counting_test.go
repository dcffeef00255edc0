package license_test

import (
	"context"

	"github.com/seed-d8a106b4/licensekit/store"
)

// A countingStore notes the calls that validations and imports make, in order.
type countingStore struct {
	store.Store
	calls []string
}

func (c *countingStore) LicenseByKey(ctx context.Context, key string) (store.License, error) {
	return countingReader{c.Store, c}.LicenseByKey(ctx, key)
}

func (c *countingStore) View(ctx context.Context, fn func(store.Reader) error) error {
	c.calls = append(c.calls, "View")
	return c.Store.View(ctx, func(r store.Reader) error { return fn(countingReader{r, c}) })
}

func (c *countingStore) Update(ctx context.Context, fn func(store.Tx) error) error {
	c.calls = append(c.calls, "Update")
	return c.Store.Update(ctx, func(tx store.Tx) error { return fn(countingTx{tx, c}) })
}

type countingTx struct {
	store.Tx
	c *countingStore
}

func (t countingTx) CreateLicenses(ctx context.Context, licenses ...store.License) error {
	t.c.calls = append(t.c.calls, "CreateLicenses")
	return t.Tx.CreateLicenses(ctx, licenses...)
}

func (t countingTx) AppendEvents(ctx context.Context, events ...store.Event) error {
	t.c.calls = append(t.c.calls, "AppendEvents")
	return t.Tx.AppendEvents(ctx, events...)
}

type countingReader struct {
	store.Reader
	c *countingStore
}

func (r countingReader) LicenseByKey(ctx context.Context, key string) (store.License, error) {
	r.c.calls = append(r.c.calls, "LicenseByKey")
	return r.Reader.LicenseByKey(ctx, key)
}

func (r countingReader) Activation(ctx context.Context, licenseID, fingerprint string) (store.Activation, error) {
	r.c.calls = append(r.c.calls, "Activation")
	return r.Reader.Activation(ctx, licenseID, fingerprint)
}

func (r countingReader) Entry(ctx context.Context, kind, key string) (store.Entry, error) {
	r.c.calls = append(r.c.calls, "Entry")
	return r.Reader.Entry(ctx, kind, key)
}

func (r countingReader) Activations(ctx context.Context, q store.ActivationQuery) ([]store.Activation, error) {
	r.c.calls = append(r.c.calls, "Activations")
	return r.Reader.Activations(ctx, q)
}

func (c *countingStore) count(call string) (n int) {
	for _, made := range c.calls {
		if made == call {
			n++
		}
	}
	return n
}
