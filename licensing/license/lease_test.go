package license_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store"
)

// TestLeases: a lease ends by the clock alone, is renewed by validating, and
// is never revived.
//
// Fault: dead machines hold their seats until some worker removes them. Fault:
// a lease that has ended is revived by its next heartbeat, over the limit.
// Fault: a program that returns after the end, before a sweep, conflicts with the old
// row.
func TestLeases(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	l := f.create(t, seats(1, 600))
	a := f.activate(t, l.Key, "pc-1")
	is.Equal(*a.LeaseEndsAt, start.Add(10*time.Minute))

	f.now = start.Add(9 * time.Minute)
	v := f.validate(t, l.Key, "pc-1")
	is.Equal(*v.Activation.LeaseEndsAt, start.Add(19*time.Minute)) // restarted
	is.Equal(*v.NextChangeAt, start.Add(19*time.Minute))
	is.Equal(v.RecheckAfter, int64(300)) // in time to renew
	is.Equal(v.Activation.LastSeenAt, f.now)

	f.now = start.Add(19*time.Minute - time.Millisecond)
	_, err := f.Activate(t.Context(), api.ActivateKeyParams{Key: l.Key, Fingerprint: "pc-2"})
	require.ErrorIs(t, err, api.ErrActivationLimit) // still held

	f.now = start.Add(19 * time.Minute)
	v = f.validate(t, l.Key, "pc-1")
	is.Equal(codes(v), []api.VerdictCode{api.VerdictLeaseEnded})
	is.Equal(v.Activation.Status, api.ActivationLeaseEnded)
	is.Equal(*v.Activation.LeaseEndsAt, start.Add(19*time.Minute)) // not renewed
	f.activate(t, l.Key, "pc-2")                                   // the seat was free without a sweep
	v = f.validate(t, l.Key, "pc-1")
	is.Equal(codes(v), []api.VerdictCode{api.VerdictLeaseEnded, api.VerdictActivationLimit})
	_, err = f.Activate(t.Context(), api.ActivateKeyParams{Key: l.Key, Fingerprint: "pc-1"})
	require.ErrorIs(t, err, api.ErrActivationLimit) // coming back is under the same limit

	f.now = start.Add(30 * time.Minute)
	back := f.activate(t, l.Key, "pc-1")
	is.True(back.ID != a.ID) // and a new activation
	is.Equal(back.CreatedAt, f.now)
	is.Equal(f.live(t, l.ID), 1)
}

// TestLeaseIsWrittenAfterATenth: a validation writes the lease only when a tenth
// of it has passed, and says the same in either case about when to come back.
func TestLeaseIsWrittenAfterATenth(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	l := f.create(t, seats(1, 600))
	f.activate(t, l.Key, "pc")
	validate := func() api.Activation {
		v := f.validate(t, l.Key, "pc")
		is.True(v.Valid)
		is.Equal(v.RecheckAfter, int64(300)) // half of a lease that starts now
		is.Equal(v.NextChangeAt, v.Activation.LeaseEndsAt)
		a := f.activate(t, l.Key, "pc") // activating again follows the same rule
		is.Equal(a, *v.Activation)
		return a
	}
	f.now = start.Add(time.Minute - time.Millisecond)
	a := validate()
	is.Equal(*a.LeaseEndsAt, start.Add(10*time.Minute))
	is.Equal(a.LastSeenAt, start)
	f.now = start.Add(time.Minute)
	a = validate()
	is.Equal(*a.LeaseEndsAt, start.Add(11*time.Minute))
	is.Equal(a.LastSeenAt, f.now)

	// A change of the lease applies with the next validation.
	for _, lease := range []api.Change[int64]{api.To[int64](1200), api.To[int64](60), api.ToNull[int64]()} {
		_, err := f.Update(t.Context(), api.UpdateLicenseParams{ID: l.ID, LeaseSeconds: lease})
		is.NoErr(err)
		v := f.validate(t, l.Key, "pc")
		if lease.Null {
			is.Equal(v.Activation.LeaseEndsAt, nil)
		} else {
			is.Equal(*v.Activation.LeaseEndsAt, f.now.Add(time.Duration(lease.Value)*time.Second))
		}
	}
}

// TestLeaseIsNotRenewed while anything about the license forbids its use.
//
// Fault: the heartbeat of a lease looks at neither the state of the license
// nor its end.
func TestLeaseIsNotRenewed(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	l := f.create(t, seats(1, 600))
	a := f.activate(t, l.Key, "pc")
	f.now = f.now.Add(time.Minute)
	for _, ask := range []api.ValidateKeyParams{
		{Key: l.Key, Fingerprint: "pc", ProductID: "x"},
		{Key: l.Key, Fingerprint: "pc", CustomerID: "x"},
		{Key: l.Key},
	} {
		v, err := f.Validate(t.Context(), ask)
		is.NoErr(err)
		if v.Activation != nil {
			is.Equal(v.Activation.LeaseEndsAt, a.LeaseEndsAt)
		}
	}
	_, err := f.Suspend(t.Context(), api.ChangeStateParams{ID: l.ID})
	is.NoErr(err)
	is.Equal(f.validate(t, l.Key, "pc").Activation.LeaseEndsAt, a.LeaseEndsAt)
	_, err = f.Reinstate(t.Context(), api.ChangeStateParams{ID: l.ID})
	is.NoErr(err)
	v, err := f.Validate(t.Context(), api.ValidateKeyParams{Key: l.Key, Fingerprint: "pc", Entitlements: []string{"export"}})
	is.NoErr(err)
	is.Equal(v.Code, api.VerdictEntitlementMissing)
	is.Equal(*v.Activation.LeaseEndsAt, f.now.Add(10*time.Minute)) // a missing feature does not end the use of the rest
}

// TestClocksThatDisagree: a lease that one node has seen ending, and whose seat
// it gave away, is not renewed by another node whose clock is behind.
func TestClocksThatDisagree(t *testing.T) {
	is := is.New(t)
	behind := newFixture(t)
	ahead := license.New(behind.store, license.Options{Now: func() time.Time { return behind.now.Add(5 * time.Second) }})
	l := behind.create(t, seats(1, 10))
	a := behind.activate(t, l.Key, "pc-1")

	behind.now = start.Add(6 * time.Second) // for the other it is eleven seconds past
	_, err := ahead.Activate(t.Context(), api.ActivateKeyParams{Key: l.Key, Fingerprint: "pc-2"})
	is.NoErr(err)
	v := behind.validate(t, l.Key, "pc-1")
	is.Equal(codes(v), []api.VerdictCode{api.VerdictLeaseEnded, api.VerdictActivationLimit})
	is.Equal(v.Activation.LeaseEndsAt, a.LeaseEndsAt)
	_, err = behind.Activate(t.Context(), api.ActivateKeyParams{Key: l.Key, Fingerprint: "pc-1"})
	require.ErrorIs(t, err, api.ErrActivationLimit)
	is.True(behind.validate(t, l.Key, "pc-2").Valid)
	_, err = behind.Activate(t.Context(), api.ActivateKeyParams{Key: l.Key, Fingerprint: "pc-1", TakeOver: api.TakeOverOldest})
	is.NoErr(err)
	is.Equal(behind.validate(t, l.Key, "pc-2").Code, api.VerdictEvicted) // and not its own former seat
}

// TestLeaseLengthChanges: a lease has the length that the license has when it
// begins.
func TestLeaseLengthChanges(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	l := f.create(t, seats(1, 0))
	is.Equal(f.activate(t, l.Key, "pc").LeaseEndsAt, nil)
	set := func(c api.Change[int64]) {
		_, err := f.Update(t.Context(), api.UpdateLicenseParams{ID: l.ID, LeaseSeconds: c})
		is.NoErr(err)
	}
	set(api.To(int64(60)))
	is.Equal(*f.validate(t, l.Key, "pc").Activation.LeaseEndsAt, start.Add(time.Minute))
	set(api.ToNull[int64]())
	is.Equal(f.validate(t, l.Key, "pc").Activation.LeaseEndsAt, nil)
}

// TestValidationsThatWriteNothing: an activation without a lease is seen to
// the day, so that the checks of an hour write nothing.
func TestValidationsThatWriteNothing(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	l := f.create(t)
	f.activate(t, l.Key, "pc")
	counting := &countingStore{Store: f.store}
	s := license.New(counting, license.Options{Now: func() time.Time { return f.now }})
	for hours := range 48 {
		f.now = start.Add(time.Duration(hours) * time.Hour)
		v, err := s.Validate(t.Context(), api.ValidateKeyParams{Key: l.Key, Fingerprint: "pc"})
		is.NoErr(err)
		is.Equal(v.Activation.LastSeenAt, start.Add(time.Duration(hours/24)*day))
	}
	is.Equal(counting.count("Update"), 1)
}

// TestSweep: the rows of activations that ended long ago do not pile up, unless a
// license file still runs.
func TestSweep(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	floating := f.create(t, seats(0, 60))
	lasting := f.create(t)
	_, err := f.IssueFile(t.Context(), api.IssueFileParams{LicenseID: lasting.ID, Fingerprint: "offline", Lifetime: api.Duration{Days: 200}})
	is.NoErr(err)
	is.NoErr(f.release(t, lasting.Key, "offline"))
	for i := range 500 {
		f.now = f.now.Add(6 * time.Hour)
		f.activate(t, floating.Key, fmt.Sprint("container-", i)) // each its own, and gone in a minute
		if i%5 == 0 {
			f.activate(t, lasting.Key, fmt.Sprint("pc-", i))
		}
	}
	rows := func(id string) int {
		n, err := countActivations(t.Context(), f.store, store.ActivationQuery{LicenseID: id})
		is.NoErr(err)
		return n
	}
	const month = 30 * 24 / 6
	require.AtLeast(t, rows(floating.ID), month) // those of thirty days are kept
	require.Less(t, rows(floating.ID), month*3/2)
	is.Equal(rows(lasting.ID), 101) // all that are live, and the one with the file
	counts, err := inner.Of(f.Service).Find().SeatCounts(t.Context(), []string{floating.ID})
	is.NoErr(err)
	is.Equal(counts[floating.ID].N, rows(floating.ID))
}
