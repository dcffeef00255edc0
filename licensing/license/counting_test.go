package license_test

import (
	"context"

	"github.com/seed-d8a106b4/licensekit/store"
)

// A countingStore notes the calls that validations make, in order.
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
	return c.Store.Update(ctx, fn)
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
