package license_test

import (
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

// process activates a process, and returns when its file expires.
func (f *fixture) process(t *testing.T, key, fingerprint string) (license.VerdictWithFile, time.Time) {
	t.Helper()
	v, err := f.Activate(t.Context(), api.ActivateKeyParams{Key: key, Fingerprint: fingerprint, PerProcess: true, File: days14})
	if err != nil {
		t.Fatal(err)
	}
	return v, v.FileClaims().ExpiresAt
}

func leased(seats, seconds int64) func(*api.CreateLicenseParams) {
	return func(p *api.CreateLicenseParams) { p.MaxActivations, p.LeaseSeconds = &seats, &seconds }
}

// TestPerProcess: files of a process end with its lease, and its release is never refused,
// also if no held seat may be released.
func TestPerProcess(t *testing.T) {
	is := is.New(t)
	f := newFixture(t, func(o *license.Options) { o.HoldOffline = true })
	l := f.create(t, leased(1, 600))
	f.now = f.now.Add(300 * time.Millisecond)
	for range 5 {
		v, expires := f.process(t, l.Key, "a")
		is.Equal(expires, f.now.Add(600*time.Second).Truncate(time.Second))
		is.Equal(*v.Activation.HeldUntil, expires)
		is.NoErr(f.release(t, l.Key, "a"))
		is.Equal(f.live(t, l.ID), 0)
		v, _ = f.process(t, l.Key, "b") // the seat of a is not spent
		f.now = f.now.Add(300 * time.Second)
		again, err := f.Validate(t.Context(), api.ValidateKeyParams{Key: l.Key, Fingerprint: "b", File: days14})
		is.NoErr(err)
		is.Equal(again.FileClaims().ExpiresAt, f.now.Add(600*time.Second).Truncate(time.Second))
		f.now = f.now.Add(30 * time.Second) // less than a tenth: the lease is not renewed
		again, err = f.Validate(t.Context(), api.ValidateKeyParams{Key: l.Key, Fingerprint: "b", File: days14})
		is.NoErr(err)
		is.Equal(again.FileClaims().ExpiresAt, f.now.Add(570*time.Second).Truncate(time.Second))

		// Someone else cannot release it while the process may run.
		p := api.ReleaseActivationParams{LicenseID: l.ID, ActivationID: v.Activation.ID}
		_, err = f.ReleaseActivation(t.Context(), p)
		require.ErrorIs(t, err, api.ErrSeatHeld)
		is.NoErr(f.release(t, l.Key, "b"))
	}
}

// TestPerProcessWithAShorterLease: the seat of a process that runs from an earlier file is
// not given to another before that has expired.
func TestPerProcessWithAShorterLease(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	l := f.create(t, leased(1, 24*3600))
	_, expires := f.process(t, l.Key, "a")
	_, err := f.Update(t.Context(), api.UpdateLicenseParams{ID: l.ID, LeaseSeconds: api.To[int64](60)})
	is.NoErr(err)
	f.validate(t, l.Key, "a") // renews the lease, which is shorter than the file
	f.now = expires.Add(-time.Millisecond)
	_, err = f.Activate(t.Context(), api.ActivateKeyParams{Key: l.Key, Fingerprint: "b", PerProcess: true})
	require.ErrorIs(t, err, api.ErrActivationLimit)
	f.now = expires
	f.process(t, l.Key, "b")
}

// TestPerProcessNeedsALease: a license without leases, or with time offline, refuses
// activations per process, and later their files.
func TestPerProcessNeedsALease(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	activate := func(l api.License) error {
		_, err := f.Activate(t.Context(), api.ActivateKeyParams{Key: l.Key, Fingerprint: "a", PerProcess: true})
		return err
	}
	invalid := func(err error) {
		t.Helper()
		var wrong *api.InvalidError
		require.ErrorAs(t, err, &wrong)
		is.Equal(wrong.Fields[0].Field, "per_process")
	}
	invalid(activate(f.create(t)))
	l := f.create(t, leased(1, 600), func(p *api.CreateLicenseParams) { p.OfflineSeconds = new(int64(0)) })
	invalid(activate(l))
	is.Equal(f.live(t, l.ID), 0)
	change := func(p api.UpdateLicenseParams) {
		p.ID = l.ID
		_, err := f.Update(t.Context(), p)
		is.NoErr(err)
	}
	change(api.UpdateLicenseParams{OfflineSeconds: api.ToNull[int64]()})
	is.NoErr(activate(l))
	for _, p := range []api.UpdateLicenseParams{
		{OfflineSeconds: api.To[int64](3600)},
		{OfflineSeconds: api.ToNull[int64](), LeaseSeconds: api.ToNull[int64]()},
	} {
		change(p)
		v, err := f.Validate(t.Context(), api.ValidateKeyParams{Key: l.Key, Fingerprint: "a", File: days14})
		is.NoErr(err)
		is.True(v.Valid)
		is.Equal(v.FileReason.Code, api.VerdictLeaseRequired)
	}
}
