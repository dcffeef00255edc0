package mapstore

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"example.com/thirdparty/kv"

	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/store"
)

// A counting engine counts the calls that would each be a round trip to a server.
type counting struct {
	kv.Engine
	calls *atomic.Int64
}

func (c counting) View(ctx context.Context, fn func(kv.Reader) error) error {
	return c.Engine.View(ctx, func(r kv.Reader) error { return fn(reads{r, c.calls}) })
}

func (c counting) Update(ctx context.Context, fn func(kv.Tx) error) error {
	return c.Engine.Update(ctx, func(t kv.Tx) error { return fn(writes{reads{t, c.calls}, t}) })
}

type reads struct {
	kv.Reader
	calls *atomic.Int64
}

func (r reads) Get(ctx context.Context, keys ...string) ([][]byte, error) {
	r.calls.Add(1)
	return r.Reader.Get(ctx, keys...)
}

func (r reads) Scan(ctx context.Context, lo, hi string, descending bool, limit int) ([]kv.Row, error) {
	r.calls.Add(1)
	return r.Reader.Scan(ctx, lo, hi, descending, limit)
}

type writes struct {
	reads
	tx kv.Tx
}

func (w writes) Set(ctx context.Context, rows ...kv.Row) error {
	w.calls.Add(1)
	return w.tx.Set(ctx, rows...)
}

// TestRoundTrips bounds the calls of Get, Scan and Set of a request.
func TestRoundTrips(t *testing.T) {
	ctx := t.Context()
	var calls atomic.Int64
	st := kv.New(counting{&engine{}, &calls})
	s := licensing.NewHandler(st, licensing.Options{}).Service()
	var l api.License
	create := func(customer string) (err error) {
		l, err = s.Create(ctx, api.CreateLicenseParams{Name: "Ada", ProductID: "editor", CustomerID: customer})
		return err
	}
	activate := func(fingerprint string) error {
		_, err := s.Activate(ctx, api.ActivateKeyParams{Key: l.Key, Fingerprint: fingerprint})
		return err
	}
	for n := range 150 { // of other customers
		if err := create(fmt.Sprint("other_", n)); err != nil {
			t.Fatal(err)
		}
	}
	for _, of := range []struct {
		what string
		most int64
		call func() error
	}{
		{"create", 4, func() error { return create("cus_1") }},
		{"update", 3, func() error {
			name := "Grace"
			_, err := s.Update(ctx, api.UpdateLicenseParams{ID: l.ID, Name: &name})
			return err
		}},
		{"activate by its key, of which no count of seats is stored", 7, func() error { return activate("laptop") }},
		{"activate by its key", 6, func() error { return activate("desktop") }},
		{"get", 1, func() error { _, err := s.Get(ctx, l.ID); return err }},
		{"list", 2, func() error { _, err := s.List(ctx, api.ListLicensesParams{CustomerID: "cus_1"}); return err }},
		{"list of one, past many that do not match", 6, func() error {
			_, err := st.Licenses(ctx, store.LicenseQuery{ProductID: "editor", Expires: store.TimeRange{Before: time.Unix(1, 0)}, Limit: 1})
			return err
		}},
	} {
		before := calls.Load()
		if err := of.call(); err != nil {
			t.Fatalf("%s: %v", of.what, err)
		}
		if n := calls.Load() - before; n > of.most {
			t.Errorf("%s takes %d calls, want at most %d", of.what, n, of.most)
		}
	}
}
