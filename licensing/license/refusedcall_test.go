package license_test

import (
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/licensing/selling"
)

// TestRefusedRekeyAppendsNothing: a call that a rule refuses leaves nothing inside
// Atomically, although the function continues.
//
// Fault: the event of a change of terms that no write has stored yet, such as the end of an
// add-on, is appended by the refused call, and again by the next write.
func TestRefusedRekeyAppendsNothing(t *testing.T) {
	is := is.New(t)
	s := newTwice(t)
	other := s.give(t, "cus_bob")
	l := s.tell(t, "shop:1", event{At: onDay(39), CustomerID: "cus_ada", PlanID: "pro", State: "active"}).License
	s.tell(t, "shop:2", event{At: onDay(39), CustomerID: "cus_ada", LicenseID: l.ID, PlanID: "extra", State: "active"})
	s.now = onDay(100)
	f := fixture{store: s.store}
	before := f.events(t, l.ID)
	is.NoErr(s.Atomically(t.Context(), func(in *license.Service) error {
		_, err := in.Rekey(t.Context(), api.RekeyLicenseParams{ID: l.ID, Key: other.Key})
		require.ErrorIs(t, err, api.ErrKeyTaken)
		return nil
	}))
	is.Equal(f.events(t, l.ID), before)
	_, err := s.Rekey(t.Context(), api.RekeyLicenseParams{ID: l.ID})
	is.NoErr(err)
	is.Equal(f.events(t, l.ID), append(before, api.EventLicenseUpdated, api.EventLicenseRekeyed))
}

// TestRefusedActivationStartsNothing: the time of a license that begins with its first
// activation does not begin with one that is refused, and the Update that it joined goes on.
//
// Fault: the purchase that then comes first allows no activation, and its year runs.
func TestRefusedActivationStartsNothing(t *testing.T) {
	is := is.New(t)
	s := newTwice(t)
	for _, p := range []api.PutPlanParams{
		{ID: "first", Line: "editor", Starts: api.StartsActivation, Terms: api.Terms{MaxActivations: ptr[int64](0)}},
		{ID: "second", Line: "editor", Terms: api.Terms{MaxActivations: ptr[int64](3)}},
	} {
		p.ProductID, p.Duration = "prod_editor", api.Duration{Years: 1}
		_, err := selling.New(s.Service).PutPlan(t.Context(), p)
		is.NoErr(err)
	}
	l := s.tell(t, "shop:1", event{At: onDay(38), CustomerID: "cus_ada", PlanID: "first", State: "active"}).License
	l = s.tell(t, "shop:2", event{At: onDay(39), CustomerID: "cus_ada", LicenseID: l.ID, PlanID: "second", State: "active"}).License
	is.Equal(l.Starts, api.StartsActivation)
	is.NoErr(s.Atomically(t.Context(), func(in *license.Service) error {
		_, err := in.Activate(t.Context(), api.ActivateKeyParams{Key: l.Key, Fingerprint: "a"})
		require.ErrorIs(t, err, api.ErrDenied)
		return nil
	}))
	is.Equal(s.mustGet(t, l.ID), *l)
}
