package license_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/store"
)

// seats returns an edit that limits the seats and their lease; zero: none.
func seats(limit, lease int64) func(*api.CreateLicenseParams) {
	return func(p *api.CreateLicenseParams) {
		if limit > 0 {
			p.MaxActivations = &limit
		}
		if lease > 0 {
			p.LeaseSeconds = &lease
		}
	}
}

// activate takes a seat that must be there to take.
func (f *fixture) activate(t *testing.T, key, fingerprint string) api.Activation {
	t.Helper()
	v, err := f.Activate(t.Context(), api.ActivateKeyParams{Key: key, Fingerprint: fingerprint})
	if err != nil {
		t.Fatal(err)
	}
	return *v.Activation
}

// validate asks about a fingerprint.
func (f *fixture) validate(t *testing.T, key, fingerprint string) api.Verdict {
	t.Helper()
	v, err := f.Validate(t.Context(), api.ValidateKeyParams{Key: key, Fingerprint: fingerprint})
	if err != nil {
		t.Fatal(err)
	}
	return v.Verdict
}

// live returns how many seats of a license are taken.
func (f *fixture) live(t *testing.T, id string) int {
	t.Helper()
	n, err := countActivations(t.Context(), f.store, store.ActivationQuery{LicenseID: id, LiveAt: f.now})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// countActivations counts what q selects.
func countActivations(ctx context.Context, r store.Reader, q store.ActivationQuery) (n int, err error) {
	for {
		rows, err := r.Activations(ctx, q)
		n += len(rows)
		if err != nil || len(rows) < store.MaxLimit {
			return n, err
		}
		q.After = rows[len(rows)-1].ID
	}
}

func TestActivate(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	l := f.create(t, seats(2, 0))
	v, err := f.Activate(t.Context(), api.ActivateKeyParams{Key: l.Key, Fingerprint: "pc-1", Name: "Ada's desk", Metadata: map[string]string{"os": "linux"}})
	is.NoErr(err)
	is.True(v.Valid)
	a := *v.Activation
	is.Equal(a, api.Activation{
		Object: "activation", ID: a.ID, LicenseID: l.ID, Fingerprint: "pc-1", Name: "Ada's desk", Status: api.ActivationLive,
		Metadata: map[string]string{"os": "linux"}, CreatedAt: start, LastSeenAt: start,
	})
	e, data := f.lastEvent(t)
	is.Equal(e.Type, api.EventActivationCreated)
	is.Equal(e.Subject, l.ID)
	is.Equal(e.Actor, "license:"+l.ID) // the license key holder
	is.Equal(*data.Activation, a)
	is.Equal(data.License.Key, "")

	f.now = f.now.Add(time.Minute)
	v, err = f.Activate(t.Context(), api.ActivateKeyParams{Key: l.Key, Fingerprint: "pc-1", Name: "Renamed"})
	is.NoErr(err)
	is.Equal(v.Activation.ID, a.ID) // again is the same seat
	is.Equal(v.Activation.Name, "Renamed")
	is.Equal(v.Activation.Metadata, a.Metadata)
	v, err = f.Activate(t.Context(), api.ActivateKeyParams{Key: l.Key, Fingerprint: "pc-1", Metadata: map[string]string{"os": "plan9"}})
	is.NoErr(err)
	is.Equal(v.Activation.Metadata, map[string]string{"os": "plan9"}) // replaced, not merged
	is.Equal(f.validate(t, l.Key, "pc-1").Activation.Name, "Renamed")
	is.Equal(f.validate(t, l.Key, "pc-1").Activation.Metadata, v.Activation.Metadata)
	f.activate(t, l.Key, "PC-1") // another fingerprint: case matters
	is.Equal(f.live(t, l.ID), 2)
	is.Equal(len(f.events(t, l.ID)), 3)

	_, err = f.Activate(t.Context(), api.ActivateKeyParams{Key: l.Key, Fingerprint: "pc-2"})
	require.ErrorIs(t, err, api.ErrActivationLimit)
	require.ErrorIs(t, err, api.ErrDenied)
	is.True(!errors.Is(err, api.ErrNotFound))
	var denied *api.DeniedError
	require.ErrorAs(t, err, &denied)
	is.Equal(denied.Verdict.Code, api.VerdictActivationLimit)
	is.Equal(denied.Verdict.License.ID, l.ID)
	is.Equal(denied.Verdict.License.Key, "")
	is.Equal(f.live(t, l.ID), 2)
}

// TestActivateIsDenied: an activation needs a license that is valid now.
func TestActivateIsDenied(t *testing.T) {
	for name, test := range map[string]struct {
		edit func(*api.CreateLicenseParams)
		move func(*fixture, api.ChangeStateParams) (api.License, error)
		ask  api.ActivateKeyParams
		want api.VerdictCode
	}{
		"unknown key":    {ask: api.ActivateKeyParams{Key: "nothing"}, want: api.VerdictNotFound},
		"expired":        {edit: func(p *api.CreateLicenseParams) { p.ExpiresAt = ptr(start) }, want: api.VerdictExpired},
		"scheduled":      {edit: func(p *api.CreateLicenseParams) { p.StartsAt = ptr(start.Add(1e9)) }, want: api.VerdictScheduled},
		"suspended":      {move: func(f *fixture, p api.ChangeStateParams) (api.License, error) { return f.Suspend(t.Context(), p) }, want: api.VerdictSuspended},
		"revoked":        {move: func(f *fixture, p api.ChangeStateParams) (api.License, error) { return f.Revoke(t.Context(), p) }, want: api.VerdictRevoked},
		"wrong product":  {ask: api.ActivateKeyParams{ProductID: "x"}, want: api.VerdictProductMismatch},
		"wrong customer": {ask: api.ActivateKeyParams{CustomerID: "x"}, want: api.VerdictCustomerMismatch},
		"newer build": {
			edit: func(p *api.CreateLicenseParams) { p.UpdatesUntil = ptr(start) },
			ask:  api.ActivateKeyParams{BuiltAt: ptr(start.Add(time.Second))}, want: api.VerdictUpdatesEnded,
		},
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			f := newFixture(t)
			var editing []func(*api.CreateLicenseParams)
			if test.edit != nil {
				editing = append(editing, test.edit)
			}
			l := f.create(t, editing...)
			if test.move != nil {
				_, err := test.move(f, api.ChangeStateParams{ID: l.ID})
				is.NoErr(err)
			}
			if test.ask.Key == "" {
				test.ask.Key = l.Key
			}
			test.ask.Fingerprint = "pc"
			_, err := f.Activate(t.Context(), test.ask)
			var denied *api.DeniedError
			require.ErrorAs(t, err, &denied)
			is.Equal(denied.Verdict.Code, test.want)
			is.Equal(errors.Is(err, api.ErrNotFound), test.want == api.VerdictNotFound)
			is.Equal(f.live(t, l.ID), 0)
		})
	}
}

func TestActivateInGrace(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	l := f.create(t, func(p *api.CreateLicenseParams) { p.ExpiresAt, p.GraceSeconds = ptr(start.Add(-time.Minute)), 3600 })
	v, err := f.Activate(t.Context(), api.ActivateKeyParams{Key: l.Key, Fingerprint: "pc"})
	is.NoErr(err)
	is.Equal(v.Code, api.VerdictInGrace)
}

func TestActivateRefuses(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	_, err := f.Activate(t.Context(), api.ActivateKeyParams{TakeOver: "youngest", Metadata: map[string]string{"a": "\x00"}})
	is.Equal(fields(t, err), map[string]string{"key": "required", "fingerprint": "required", "take_over": "unknown", "metadata/a": "invalid_characters"})
}

// TestTakeOver: a newcomer takes the oldest or a named seat of a full license,
// and the evicted program learns of it.
//
// Fault: seats stay in use by machines that are gone.
func TestTakeOver(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	l := f.create(t, seats(2, 0))
	first := f.activate(t, l.Key, "pc-1")
	f.now = f.now.Add(time.Second)
	second := f.activate(t, l.Key, "pc-2")
	f.now = f.now.Add(time.Second)

	v, err := f.Activate(t.Context(), api.ActivateKeyParams{Key: l.Key, Fingerprint: "pc-3", TakeOver: api.TakeOverOldest})
	is.NoErr(err)
	third := *v.Activation
	evicted := f.validate(t, l.Key, "pc-1")
	is.Equal(codes(evicted), []api.VerdictCode{api.VerdictEvicted, api.VerdictActivationLimit}) // the evicted program learns of it
	is.Equal(evicted.Activation.ID, first.ID)
	is.Equal(evicted.Activation.Status, api.ActivationEvicted)
	is.Equal(*evicted.Activation.EndedAt, f.now)
	is.True(f.validate(t, l.Key, "pc-2").Valid)
	is.Equal(f.events(t, l.ID)[3:], []string{api.EventActivationEvicted, api.EventActivationCreated})

	_, err = f.Activate(t.Context(), api.ActivateKeyParams{Key: l.Key, Fingerprint: "pc-4", TakeOver: third.ID})
	is.NoErr(err)
	is.Equal(f.validate(t, l.Key, "pc-3").Code, api.VerdictEvicted)
	is.True(f.validate(t, l.Key, "pc-2").Valid)
	is.Equal(f.live(t, l.ID), 2)

	for _, takeOver := range []string{first.ID, third.ID, "act_00000000000000000000000000"} { // ended, ended, unknown
		_, err = f.Activate(t.Context(), api.ActivateKeyParams{Key: l.Key, Fingerprint: "pc-5", TakeOver: takeOver})
		require.ErrorIs(t, err, api.ErrActivationLimit)
	}
	_, err = f.Deactivate(t.Context(), api.DeactivateKeyParams{Key: l.Key, Fingerprint: "pc-4"})
	is.NoErr(err)
	_, err = f.Activate(t.Context(), api.ActivateKeyParams{Key: l.Key, Fingerprint: "pc-5", TakeOver: second.ID})
	is.NoErr(err)
	is.True(f.validate(t, l.Key, "pc-2").Valid) // no activation is evicted while a seat is free
}

// A fingerprint whose own lease has ended takes over no seat with the ID of that
// activation, which uses none.
func TestTakeOverOfAnEndedLease(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	l := f.create(t, seats(2, 600))
	ended := f.activate(t, l.Key, "pc-1")
	f.now = f.now.Add(time.Hour)
	f.activate(t, l.Key, "pc-2")
	_, err := f.Update(t.Context(), api.UpdateLicenseParams{ID: l.ID, MaxActivations: api.To(int64(1))})
	is.NoErr(err)
	_, err = f.Activate(t.Context(), api.ActivateKeyParams{Key: l.Key, Fingerprint: "pc-1", TakeOver: ended.ID})
	require.ErrorIs(t, err, api.ErrActivationLimit)
	is.Equal(f.live(t, l.ID), 1)
}

// TestLoweredLimit: those inside stay, and none is admitted, in no way.
func TestLoweredLimit(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	l := f.create(t, seats(3, 600))
	for i := range 3 {
		f.activate(t, l.Key, fmt.Sprint("pc-", i))
	}
	_, err := f.Update(t.Context(), api.UpdateLicenseParams{ID: l.ID, MaxActivations: api.To(int64(1))})
	is.NoErr(err)
	f.now = f.now.Add(time.Minute)
	for i := range 3 {
		is.True(f.validate(t, l.Key, fmt.Sprint("pc-", i)).Valid) // and are renewed
		f.activate(t, l.Key, fmt.Sprint("pc-", i))
	}
	for _, takeOver := range []string{"", api.TakeOverOldest} {
		_, err = f.Activate(t.Context(), api.ActivateKeyParams{Key: l.Key, Fingerprint: "new", TakeOver: takeOver})
		require.ErrorIs(t, err, api.ErrActivationLimit)
	}
	is.Equal(f.live(t, l.ID), 3)

	_, err = f.Update(t.Context(), api.UpdateLicenseParams{ID: l.ID, MaxActivations: api.To(int64(0))})
	is.NoErr(err)
	f.now = f.now.Add(time.Hour)
	_, err = f.Activate(t.Context(), api.ActivateKeyParams{Key: l.Key, Fingerprint: "pc-0", TakeOver: api.TakeOverOldest})
	require.ErrorIs(t, err, api.ErrActivationLimit) // a limit of none admits none
}
