package license_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

func TestDeactivate(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	l := f.create(t, seats(1, 0))
	a := f.activate(t, l.Key, "pc-1")
	_, err := f.Suspend(t.Context(), api.ChangeStateParams{ID: l.ID})
	is.NoErr(err)
	f.now = f.now.Add(time.Minute)

	d, err := f.Deactivate(t.Context(), api.DeactivateKeyParams{Key: l.Key, Fingerprint: "pc-1"}) // in any state of the license
	is.NoErr(err)
	is.Equal(d.ID, a.ID)
	is.Equal(d.Status, api.ActivationReleased)
	is.Equal(*d.EndedAt, f.now)
	e, data := f.lastEvent(t)
	is.Equal(e.Type, api.EventActivationReleased)
	is.Equal(e.Actor, "license:"+l.ID)
	is.Equal(*data.Activation, d)
	is.Equal(f.live(t, l.ID), 0)

	f.now = f.now.Add(time.Minute)
	again, err := f.Deactivate(t.Context(), api.DeactivateKeyParams{Key: l.Key, Fingerprint: "pc-1"})
	is.NoErr(err)
	is.Equal(again, d) // unchanged, and no second event
	is.Equal(len(f.events(t, l.ID)), 4)

	_, unknownSeat := f.Deactivate(t.Context(), api.DeactivateKeyParams{Key: l.Key, Fingerprint: "pc-2"})
	_, unknownKey := f.Deactivate(t.Context(), api.DeactivateKeyParams{Key: license.NewKey(), Fingerprint: "pc-1"})
	require.ErrorIs(t, unknownSeat, api.ErrNotFound)
	is.Equal(unknownKey.Error(), unknownSeat.Error()) // no hint which of the two it was

	_, err = f.Reinstate(t.Context(), api.ChangeStateParams{ID: l.ID})
	is.NoErr(err)
	is.Equal(codes(f.validate(t, l.Key, "pc-1")), []api.VerdictCode{api.VerdictNotActivated})
	is.True(f.activate(t, l.Key, "pc-1").ID != a.ID)
}

func TestReleaseActivation(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	l := f.create(t)
	other := f.create(t)
	a := f.activate(t, l.Key, "pc-1")
	s := f.As(license.Caller{Actor: "operator:opr_1"})

	for _, p := range []api.ReleaseActivationParams{
		{LicenseID: other.ID, ActivationID: a.ID},
		{LicenseID: l.ID, ActivationID: "act_00000000000000000000000000"},
		{LicenseID: l.ID, ActivationID: "pc-1"},
		{LicenseID: "lic_00000000000000000000000000", ActivationID: a.ID},
	} {
		_, err := s.ReleaseActivation(t.Context(), p)
		require.ErrorIs(t, err, api.ErrNotFound)
	}
	_, err := s.ReleaseActivation(t.Context(), api.ReleaseActivationParams{ActivationID: a.ID})
	is.Equal(fields(t, err), map[string]string{"key": "required"})

	r, err := s.ReleaseActivation(t.Context(), api.ReleaseActivationParams{LicenseID: l.ID, ActivationID: a.ID, Reason: "Laptop lost"})
	is.NoErr(err)
	is.Equal(r.Status, api.ActivationReleased)
	e, data := f.lastEvent(t)
	is.Equal(e.Actor, "operator:opr_1")
	is.Equal(data.Reason, "Laptop lost")
	again, err := s.ReleaseActivation(t.Context(), api.ReleaseActivationParams{LicenseID: l.ID, ActivationID: a.ID})
	is.NoErr(err)
	is.Equal(again, r)
}

func TestListActivations(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	l := f.create(t, seats(0, 3600))
	var all, live []string
	for i := range 25 {
		f.now = f.now.Add(time.Second)
		a := f.activate(t, l.Key, fmt.Sprint("pc-", i))
		all = append(all, a.ID)
		if i%3 == 0 {
			_, err := f.Deactivate(t.Context(), api.DeactivateKeyParams{Key: l.Key, Fingerprint: a.Fingerprint})
			is.NoErr(err)
		} else {
			live = append(live, a.ID)
		}
	}
	read := func(p api.ListActivationsParams) (ids []string) {
		for {
			page, err := f.ListActivations(t.Context(), p)
			is.NoErr(err)
			for _, a := range page.Data {
				ids = append(ids, a.ID)
			}
			if p.Cursor = page.NextCursor; p.Cursor == "" {
				return ids
			}
		}
	}
	is.Equal(read(api.ListActivationsParams{LicenseID: l.ID, Limit: 4}), live)
	is.Equal(read(api.ListActivationsParams{LicenseID: l.ID, Limit: 4, Ended: true}), all)
	page, err := f.ListActivations(t.Context(), api.ListActivationsParams{LicenseID: l.ID, Limit: 4})
	is.NoErr(err)
	f.now = f.now.Add(2 * time.Hour) // all leases end
	is.Equal(len(read(api.ListActivationsParams{LicenseID: l.ID, Limit: 4, Cursor: page.NextCursor})), len(live)-4)
	is.Equal(len(read(api.ListActivationsParams{LicenseID: l.ID})), 0)

	_, err = f.ListActivations(t.Context(), api.ListActivationsParams{LicenseID: f.create(t).ID, Cursor: page.NextCursor})
	is.Equal(fields(t, err), map[string]string{"cursor": "invalid_format"})
	_, err = f.ListActivations(t.Context(), api.ListActivationsParams{LicenseID: l.ID, Ended: true, Cursor: page.NextCursor})
	is.Equal(fields(t, err), map[string]string{"cursor": "invalid_format"}) // of another list
	_, err = f.ListActivations(t.Context(), api.ListActivationsParams{LicenseID: l.ID, Limit: 201})
	is.Equal(fields(t, err), map[string]string{"limit": "out_of_range"})
	_, err = f.ListActivations(t.Context(), api.ListActivationsParams{LicenseID: "lic_1"})
	require.ErrorIs(t, err, api.ErrNotFound)
}

// TestKeyHolderSeats: license key holders manage all of its activations only where
// the host wants it.
func TestKeyHolderSeats(t *testing.T) {
	is := is.New(t)
	closed := newFixture(t)
	l := closed.create(t)
	a := closed.activate(t, l.Key, "pc")
	_, err := closed.ListActivations(t.Context(), api.ListActivationsParams{Key: l.Key})
	require.ErrorIs(t, err, api.ErrForbidden)
	_, err = closed.ReleaseActivation(t.Context(), api.ReleaseActivationParams{Key: l.Key, ActivationID: a.ID})
	require.ErrorIs(t, err, api.ErrForbidden)

	open := license.New(closed.store, license.Options{KeyHolderSeats: true, HoldOffline: true, Now: func() time.Time { return closed.now }})
	closed.limit(t, l.ID, 2)
	held := closed.activateFile(t, l.Key, "laptop").Activation.ID
	_, err = open.ReleaseActivation(t.Context(), api.ReleaseActivationParams{Key: l.Key, ActivationID: held, Force: true})
	require.ErrorIs(t, err, api.ErrSeatHeld) // only operators and API clients can force it
	page, err := open.ListActivations(t.Context(), api.ListActivationsParams{Key: l.Key})
	is.NoErr(err)
	is.Equal(len(page.Data), 2)
	_, err = open.ReleaseActivation(t.Context(), api.ReleaseActivationParams{Key: l.Key, ActivationID: a.ID})
	is.NoErr(err)
	e, _ := closed.lastEvent(t)
	is.Equal(e.Actor, "license:"+l.ID)
	_, err = open.ListActivations(t.Context(), api.ListActivationsParams{Key: license.NewKey()})
	require.ErrorIs(t, err, api.ErrNotFound)
}
