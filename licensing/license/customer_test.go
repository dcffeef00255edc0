package license_test

import (
	"errors"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
)

// requestText is what a program without a network shows.
func requestText(t *testing.T, fingerprint string) string {
	t.Helper()
	text, err := licensefile.NewRequest("", fingerprint).Text()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// calls are all methods of a Customer about one license and one activation.
func calls(t *testing.T, c *license.Customer, id, activation string) map[string]error {
	ctx := t.Context()
	errs := map[string]error{}
	_, errs["get"] = c.Get(ctx, id)
	_, errs["verdict"] = c.Verdict(ctx, id)
	_, errs["activations"] = c.Activations(ctx, api.ListActivationsParams{LicenseID: id})
	_, errs["release"] = c.Release(ctx, id, activation)
	_, errs["file"] = c.LicenseFile(ctx, id, activation)
	_, errs["request"] = c.AnswerRequest(ctx, id, requestText(t, "fp-9"))
	_, errs["empty request"] = c.AnswerRequest(ctx, id, "")
	return errs
}

func TestNothingOfAnotherCustomerExists(t *testing.T) {
	f := newFixture(t)
	own, other := f.create(t), f.create(t, func(p *api.CreateLicenseParams) { p.CustomerID = "cus_bo" })
	seat := func(l api.License, fingerprint string) string {
		v, err := f.Activate(t.Context(), api.ActivateKeyParams{Key: l.Key, Fingerprint: fingerprint})
		if err != nil {
			t.Fatal(err)
		}
		return v.Activation.ID
	}
	ownSeat, otherSeat := seat(own, "fp-1"), seat(other, "fp-2")
	ada := f.Customer("cus_ada")
	for name, id := range map[string]string{"another's": other.ID, "unknown": "lic_01234567890123456789012345", "malformed": "x", "empty": ""} {
		for call, err := range calls(t, ada, id, otherSeat) {
			if !errors.Is(err, api.ErrNotFound) {
				t.Errorf("%s of %s license: %v", call, name, err)
			}
		}
	}
	for _, activation := range []string{otherSeat, "x", ""} {
		if _, err := ada.Release(t.Context(), own.ID, activation); !errors.Is(err, api.ErrNotFound) {
			t.Errorf("release %q of own license: %v", activation, err)
		}
	}
	if _, err := ada.LicenseFile(t.Context(), own.ID, otherSeat); !errors.Is(err, api.ErrNotFound) {
		t.Errorf("file for another's activation: %v", err)
	}
	seats, err := ada.Activations(t.Context(), api.ListActivationsParams{LicenseID: own.ID, Key: other.Key})
	if err != nil || len(seats.Data) != 1 || seats.Data[0].ID != ownSeat {
		t.Errorf("activations by another's key: %v %v", seats, err)
	}
	page, err := ada.List(t.Context(), api.ListLicensesParams{
		CustomerID: other.CustomerID, Search: other.Name, KeyPart: other.Key, IDs: []string{other.ID}, NewestFirst: true, Limit: 1,
	})
	if err != nil || len(page.Data) != 1 || page.Data[0].ID != own.ID {
		t.Errorf("list: %v %v", page, err)
	}
	if _, err := ada.Release(t.Context(), own.ID, ownSeat); err != nil {
		t.Error(err)
	}
	for _, id := range []string{"", "lic_x", " a"} {
		invalid := calls(t, f.Customer(id), own.ID, ownSeat)
		_, invalid["list"] = f.Customer(id).List(t.Context(), api.ListLicensesParams{})
		for call, err := range invalid {
			if _, ok := errors.AsType[*api.InvalidError](err); !ok {
				t.Errorf("%s of customer %q: %v", call, id, err)
			}
		}
	}
}

func TestCustomerHasTheBoundsOfAKeyHolder(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	day := int64(24 * 60 * 60)
	l := f.create(t, func(p *api.CreateLicenseParams) { p.OfflineSeconds = &day; p.MaxActivations = new(int64(1)) })
	v, err := f.Activate(t.Context(), api.ActivateKeyParams{Key: l.Key, Fingerprint: "fp-1"})
	is.NoErr(err)
	f.now = f.now.Add(time.Hour)
	ada := f.Customer("cus_ada")
	file, err := ada.LicenseFile(t.Context(), l.ID, v.Activation.ID)
	is.NoErr(err)
	is.Equal(file.ExpiresAt, f.now.Add(24*time.Hour))
	is.Equal(file.Activation.LastSeenAt, v.Activation.LastSeenAt) // the program was not seen
	_, err = ada.AnswerRequest(t.Context(), l.ID, requestText(t, "fp-2"))
	require.ErrorIs(t, err, api.ErrActivationLimit)
	_, err = ada.LicenseFile(t.Context(), l.ID, "")
	_, invalid := errors.AsType[*api.InvalidError](err)
	is.True(invalid)
	_, err = ada.Release(t.Context(), l.ID, v.Activation.ID)
	is.NoErr(err)
	events, err := f.Events(t.Context(), api.ListEventsParams{Subject: l.ID})
	is.NoErr(err)
	is.Equal(events.Data[len(events.Data)-1].Actor, "customer:cus_ada")

	for _, machine := range []string{"fp-2", "fp-3", "fp-4"} {
		is.NoErr(err)
		file, err = ada.AnswerRequest(t.Context(), l.ID, requestText(t, machine))
		is.NoErr(err)
		is.True(file.FileClaims().Nonce != "")
		_, err = ada.Release(t.Context(), l.ID, file.Activation.ID)
	}
	var held *api.SeatHeldError
	require.ErrorAs(t, err, &held) // three seats are spent already
	is.True(held.OfflineUntil.After(f.now))
}

func TestAsOnlyNarrows(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	l := f.create(t)
	limited := f.As(license.Caller{Products: []string{"other"}, MaskKeys: true})
	for _, c := range []license.Caller{{}, {Products: []string{"prod_editor"}}} {
		_, err := limited.As(c).Get(t.Context(), l.ID)
		require.ErrorIs(t, err, api.ErrNotFound)
	}
	both := f.As(license.Caller{Products: []string{"other", "prod_editor"}}).As(license.Caller{Products: []string{"prod_editor", "third"}})
	_, err := both.Get(t.Context(), l.ID)
	is.NoErr(err)
	_, err = both.Create(t.Context(), api.CreateLicenseParams{Name: "x", ProductID: "third", CustomerID: "c"})
	require.ErrorIs(t, err, api.ErrProductForbidden)
}
