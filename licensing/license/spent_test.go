package license_test

import (
	"errors"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/require"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
)

// limit sets the limit of a license.
func (f *fixture) limit(t *testing.T, id string, n int64) {
	t.Helper()
	if _, err := f.Update(t.Context(), license.UpdateParams{ID: id, MaxActivations: license.To(n)}); err != nil {
		t.Fatal(err)
	}
}

func (f *fixture) release(t *testing.T, key, fingerprint string) error {
	t.Helper()
	_, err := f.Deactivate(t.Context(), license.DeactivateParams{Key: key, Fingerprint: fingerprint})
	return err
}

// TestHoldOfflineIsExactAfterTheFirstLimit: programs that were released while the
// license had no limit may still run, so they count once it has one.
func TestHoldOfflineIsExactAfterTheFirstLimit(t *testing.T) {
	is := is.New(t)
	f := newFixture(t, func(o *license.Options) { o.HoldOffline = true })
	l := f.create(t)
	until := f.now.Add(14*day + licensefile.Leeway)
	f.activateFile(t, l.Key, "a")
	b := f.activateFile(t, l.Key, "b").Activation.ID
	is.NoErr(f.release(t, l.Key, "a"))
	f.limit(t, l.ID, 2) // a and b may run

	denied := func(fingerprint, takeOver string) {
		t.Helper()
		_, err := f.Activate(t.Context(), license.ActivateParams{Key: l.Key, Fingerprint: fingerprint, TakeOver: takeOver})
		is.True(errors.Is(err, license.ErrActivationLimit) || errors.Is(err, license.ErrSeatHeld))
	}
	denied("c", "")
	denied("c", license.TakeOverOldest)
	v := f.validate(t, l.Key, "c")
	is.Equal(v.Reasons[len(v.Reasons)-1].Code, license.VerdictActivationLimit)
	explained, err := f.Explain(t.Context(), license.ExplainParams{ID: l.ID, Fingerprint: "c"})
	is.NoErr(err)
	is.Equal(explained, v)

	// A forced release frees its seat: the operator has accepted that b runs.
	_, err = f.ReleaseActivation(t.Context(), license.ReleaseParams{LicenseID: l.ID, ActivationID: b, Force: true})
	is.NoErr(err)
	f.activate(t, l.Key, "c")
	denied("d", "")
	f.limit(t, l.ID, 1)
	denied("d", license.TakeOverOldest)
	ask := license.ValidateParams{Key: l.Key, Fingerprint: "c", File: days14}
	file, err := f.Validate(t.Context(), ask)
	is.NoErr(err)
	is.Equal(file.FileReason.Code, license.VerdictActivationLimit) // a and c would run

	// The spent seat of a is for a.
	f.limit(t, l.ID, 2)
	taken, err := f.Activate(t.Context(), license.ActivateParams{Key: l.Key, Fingerprint: "a"})
	is.NoErr(err)
	is.Equal(*taken.Activation.HeldUntil, until)
	denied("d", "")

	// Nothing is spent anymore.
	require.ErrorIs(t, f.release(t, l.Key, "a"), license.ErrSeatHeld)
	f.now = until
	is.NoErr(f.release(t, l.Key, "a"))
	f.activate(t, l.Key, "d")
}

// TestOnlySpentSeats: without an activation to take over, the license is full.
func TestOnlySpentSeats(t *testing.T) {
	is := is.New(t)
	f := newFixture(t, func(o *license.Options) { o.HoldOffline = true })
	l := f.create(t)
	f.activateFile(t, l.Key, "a")
	is.NoErr(f.release(t, l.Key, "a"))
	f.limit(t, l.ID, 1)
	_, err := f.Activate(t.Context(), license.ActivateParams{Key: l.Key, Fingerprint: "b", TakeOver: license.TakeOverOldest})
	require.ErrorIs(t, err, license.ErrActivationLimit)
	f.now = f.now.Add(14*day + licensefile.Leeway)
	f.activate(t, l.Key, "b")
}

// TestSpentSeatsOfAnUnlimitedLicense: once the license is limited, they count
// toward the number of spent seats that it may have.
func TestSpentSeatsOfAnUnlimitedLicense(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	l := f.create(t)
	for _, fingerprint := range []string{"a", "b", "c", "d"} {
		f.activateFile(t, l.Key, fingerprint)
	}
	is.NoErr(f.release(t, l.Key, "a"))
	f.limit(t, l.ID, 2)
	is.NoErr(f.release(t, l.Key, "b"))
	is.NoErr(f.release(t, l.Key, "c"))
	require.ErrorIs(t, f.release(t, l.Key, "d"), license.ErrSeatHeld)
}

// TestMovesOfOneSeat: a customer moves to another machine and back, with files of
// two weeks, and releases each machine that is left.
func TestMovesOfOneSeat(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	l := f.create(t, seats(1, 0))
	for range 3 {
		for _, fingerprint := range []string{"a", "b"} {
			f.activateFile(t, l.Key, fingerprint)
			f.now = f.now.Add(time.Hour)
			is.NoErr(f.release(t, l.Key, fingerprint))
		}
	}
}

// TestTakeOverBack: a program whose seat was taken over takes it back, so that its
// seat is no longer spent when the other's is.
func TestTakeOverBack(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	l := f.create(t, seats(1, 0))
	takeOver := func(fingerprint string) error {
		_, err := f.Activate(t.Context(), license.ActivateParams{Key: l.Key, Fingerprint: fingerprint, File: days14, TakeOver: license.TakeOverOldest})
		f.now = f.now.Add(time.Minute)
		return err
	}
	is.NoErr(takeOver("a"))
	is.NoErr(takeOver("b"))
	is.NoErr(takeOver("a"))
	is.NoErr(takeOver("b"))
	is.NoErr(takeOver("c"))
	is.NoErr(takeOver("d"))
	require.ErrorIs(t, takeOver("e"), license.ErrSeatHeld) // a fifth would run
	is.NoErr(takeOver("a"))
}
