package license_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store"
)

// TestValidateCustomer: a customer who has any license that is valid and has what is
// asked for is let in, however many others there are.
func TestValidateCustomer(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	ask := func(entitlements ...string) api.Verdict {
		t.Helper()
		v, err := f.ValidateCustomer(t.Context(), api.ValidateCustomerParams{CustomerID: "cus_ada", ProductID: "prod_editor", Entitlements: entitlements})
		is.NoErr(err)
		return v
	}
	v := ask()
	is.Equal(codes(v), []api.VerdictCode{api.VerdictNotFound})
	is.Equal(v.License, nil)
	is.True(!v.Valid)
	require.Greater(t, v.RecheckAfter, 0)

	good := f.create(t, func(p *api.CreateLicenseParams) { p.Entitlements = map[string]any{"export": true} })
	for range 60 { // more than a page of newer ones
		f.now = f.now.Add(time.Millisecond)
		newer := f.create(t)
		_, err := f.Suspend(t.Context(), api.ChangeStateParams{ID: newer.ID})
		is.NoErr(err)
	}
	v = ask("export")
	is.True(v.Valid)
	is.Equal(v.License.ID, good.ID)
	is.Equal(v.License.Key, "")                                                                         // the signed-in user is not shown the key
	is.Equal(codes(ask("sso")), []api.VerdictCode{api.VerdictSuspended, api.VerdictEntitlementMissing}) // of the newest

	// A license in its grace is good enough; one that has ended is none.
	ends := f.now.Add(time.Hour)
	_, err := f.Update(t.Context(), api.UpdateLicenseParams{ID: good.ID, ExpiresAt: api.To(ends), GraceSeconds: ptr(int64(60))})
	is.NoErr(err)
	f.now = ends
	is.Equal(ask("export").Code, api.VerdictInGrace)
	f.now = ends.Add(time.Minute)
	is.True(!ask("export").Valid)

	// Products outside the caller's limit do not exist.
	limited := f.As(license.Caller{Products: []string{"prod_viewer"}})
	v, err = limited.ValidateCustomer(t.Context(), api.ValidateCustomerParams{CustomerID: "cus_ada"})
	is.NoErr(err)
	is.Equal(v.Code, api.VerdictNotFound)
	_, err = f.ValidateCustomer(t.Context(), api.ValidateCustomerParams{ProductID: " x"})
	is.Equal(fields(t, err), map[string]string{"customer_id": api.FieldRequired, "product_id": api.FieldInvalidFormat})
}

// TestValidateCustomerReadsFewLicenses, however many have ended, and finds the
// one that has not.
func TestValidateCustomerReadsFewLicenses(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	good := f.create(t)
	is.NoErr(f.store.Update(t.Context(), func(tx store.Tx) (err error) {
		for i := range 2500 {
			err = errors.Join(err, tx.CreateLicenses(t.Context(), store.License{
				ID: store.NewID("lic", start.Add(time.Second)), Key: fmt.Sprint("key-", i), CustomerID: good.CustomerID, ProductID: good.ProductID,
				State: store.StateActive, ExpiresAt: start.Add(-time.Hour), Document: []byte("{}"),
			}))
		}
		return err
	}))
	bounded := &boundedStore{Store: f.store}
	s := license.New(bounded, license.Options{Now: func() time.Time { return f.now }})
	ask := func() api.Verdict {
		v, err := s.ValidateCustomer(t.Context(), api.ValidateCustomerParams{CustomerID: good.CustomerID, ProductID: good.ProductID})
		is.NoErr(err)
		return v
	}
	is.Equal(ask().License.ID, good.ID)
	require.Less(t, bounded.licenses, 100)
	_, err := f.Suspend(t.Context(), api.ChangeStateParams{ID: good.ID})
	is.NoErr(err)
	bounded.licenses = 0
	is.Equal(ask().Code, api.VerdictExpired)
	require.Less(t, bounded.licenses, 2100)
}
