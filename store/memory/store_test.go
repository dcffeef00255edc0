package memory_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
	"github.com/seed-d8a106b4/licensekit/storetest"
)

func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) store.Store { return memory.New() })
}

func TestClosedStoreIsUnavailable(t *testing.T) {
	is := is.New(t)
	ctx := t.Context()
	st := memory.New()
	is.NoErr(st.Update(ctx, func(tx store.Tx) error {
		return tx.CreateLicenses(ctx, store.License{ID: "lic_1", Key: "K"})
	}))

	is.NoErr(st.View(ctx, func(r store.Reader) error {
		is.NoErr(st.Close())
		_, err := r.License(ctx, "lic_1")
		return err // a View that has begun may finish
	}))

	_, err := st.License(ctx, "lic_1")
	require.ErrorIs(t, err, store.ErrUnavailable)
	err = st.View(ctx, func(store.Reader) error { return nil })
	require.ErrorIs(t, err, store.ErrUnavailable)
	err = st.Update(ctx, func(store.Tx) error { return nil })
	require.ErrorIs(t, err, store.ErrUnavailable)
	is.NoErr(st.Close()) // again does nothing
}

func TestErrorsKeepCredentialsToThemselves(t *testing.T) {
	is := is.New(t)
	st := memory.New()
	_, err := st.LicenseByKey(t.Context(), "SECRET")
	is.Equal(err.Error(), "memory: license by key: not found")
	_, err = st.Entry(t.Context(), "token", "SECRET")
	is.Equal(err.Error(), "memory: token entry: not found")
	_, err = st.License(t.Context(), "lic_1")
	is.Equal(err.Error(), "memory: license lic_1: not found")
}

// BenchmarkCreateLicense creates licenses in a store that holds 20,000.
func BenchmarkCreateLicense(b *testing.B) {
	ctx := context.Background()
	st := memory.New()
	create := func(i int) {
		err := st.Update(ctx, func(tx store.Tx) error {
			id := fmt.Sprintf("lic_%09d", i)
			return tx.CreateLicenses(ctx, store.License{ID: id, Key: id, CustomerID: fmt.Sprint(i % 1000)})
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	for i := range 20_000 {
		create(i)
	}
	for i := 20_000; b.Loop(); i++ {
		create(i)
	}
}

// BenchmarkListCustomer lists one customer's 20 of 20,000 licenses.
func BenchmarkListCustomer(b *testing.B) {
	ctx := context.Background()
	st := memory.New()
	err := st.Update(ctx, func(tx store.Tx) error {
		for i := range 20_000 {
			id := fmt.Sprintf("lic_%09d", i)
			if err := tx.CreateLicenses(ctx, store.License{ID: id, Key: id, CustomerID: fmt.Sprint(i % 1000)}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if rows, err := st.Licenses(ctx, store.LicenseQuery{CustomerID: "7"}); err != nil || len(rows) != 20 {
			b.Fatal(len(rows), err)
		}
	}
}
