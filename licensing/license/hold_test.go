package license_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
	"github.com/seed-d8a106b4/licensekit/store"
)

// limit sets the limit of a license.
func (f *fixture) limit(t *testing.T, id string, n int64) {
	t.Helper()
	if _, err := f.Update(t.Context(), api.UpdateLicenseParams{ID: id, MaxActivations: api.To(n)}); err != nil {
		t.Fatal(err)
	}
}

func (f *fixture) release(t *testing.T, key, fingerprint string) error {
	t.Helper()
	_, err := f.Deactivate(t.Context(), api.DeactivateKeyParams{Key: key, Fingerprint: fingerprint})
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
		_, err := f.Activate(t.Context(), api.ActivateKeyParams{Key: l.Key, Fingerprint: fingerprint, TakeOver: takeOver})
		is.True(errors.Is(err, api.ErrActivationLimit) || errors.Is(err, api.ErrSeatHeld))
	}
	denied("c", "")
	denied("c", api.TakeOverOldest)
	v := f.validate(t, l.Key, "c")
	is.Equal(v.Reasons[len(v.Reasons)-1].Code, api.VerdictActivationLimit)
	explained, err := f.Explain(t.Context(), api.ExplainLicenseParams{ID: l.ID, Fingerprint: "c"})
	is.NoErr(err)
	is.Equal(explained, v)

	// A forced release frees its seat: the operator has accepted that b runs.
	_, err = f.ReleaseActivation(t.Context(), api.ReleaseActivationParams{LicenseID: l.ID, ActivationID: b, Force: true})
	is.NoErr(err)
	f.activate(t, l.Key, "c")
	denied("d", "")
	f.limit(t, l.ID, 1)
	denied("d", api.TakeOverOldest)
	ask := api.ValidateKeyParams{Key: l.Key, Fingerprint: "c", File: days14}
	file, err := f.Validate(t.Context(), ask)
	is.NoErr(err)
	is.Equal(file.FileReason.Code, api.VerdictActivationLimit) // a and c would run

	// The spent seat of a is for a.
	f.limit(t, l.ID, 2)
	taken, err := f.Activate(t.Context(), api.ActivateKeyParams{Key: l.Key, Fingerprint: "a"})
	is.NoErr(err)
	is.Equal(*taken.Activation.HeldUntil, until)
	denied("d", "")

	// Nothing is spent anymore.
	require.ErrorIs(t, f.release(t, l.Key, "a"), api.ErrSeatHeld)
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
	_, err := f.Activate(t.Context(), api.ActivateKeyParams{Key: l.Key, Fingerprint: "b", TakeOver: api.TakeOverOldest})
	require.ErrorIs(t, err, api.ErrActivationLimit)
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
	require.ErrorIs(t, f.release(t, l.Key, "d"), api.ErrSeatHeld)
}

// TestHoldOfAnEarlierGeneration: the hold of files that the program refuses allows no
// new file, and still lasts as long as they do.
func TestHoldOfAnEarlierGeneration(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	l := f.create(t)
	f.activateFile(t, l.Key, "a")
	f.now = f.now.Add(time.Second)
	held := *f.activateFile(t, l.Key, "b").Activation.HeldUntil
	f.limit(t, l.ID, 1)
	ask := api.ValidateKeyParams{Key: l.Key, Fingerprint: "b", File: api.Duration{Days: 1}}
	v, err := f.Validate(t.Context(), ask)
	is.NoErr(err)
	is.Equal(v.FileReason.Code, api.VerdictActivationLimit)
	is.NoErr(f.release(t, l.Key, "a"))
	v, err = f.Validate(t.Context(), ask)
	is.NoErr(err)
	is.Equal(v.FileClaims().ExpiresAt, f.now.Add(day))
	is.Equal(*v.Activation.HeldUntil, held)
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
		_, err := f.Activate(t.Context(), api.ActivateKeyParams{Key: l.Key, Fingerprint: fingerprint, File: days14, TakeOver: api.TakeOverOldest})
		f.now = f.now.Add(time.Minute)
		return err
	}
	is.NoErr(takeOver("a"))
	is.NoErr(takeOver("b"))
	is.NoErr(takeOver("a"))
	is.NoErr(takeOver("b"))
	is.NoErr(takeOver("c"))
	is.NoErr(takeOver("d"))
	require.ErrorIs(t, takeOver("e"), api.ErrSeatHeld) // a fifth would run
	is.NoErr(takeOver("a"))
}

// A fileChecker issues files of a license and checks them against the revocation
// lists of their products.
type fileChecker struct {
	*fixture
	t      *testing.T
	id     string
	issued []licensefile.Claims
}

// issue issues a file.
func (c *fileChecker) issue() licensefile.Claims {
	c.t.Helper()
	file, err := c.IssueFile(c.t.Context(), api.IssueFileParams{LicenseID: c.id, Lifetime: days14})
	if err != nil {
		c.t.Fatal(err)
	}
	c.issued = append(c.issued, *file.FileClaims())
	return *file.FileClaims()
}

// good reports whether a program that has the list of its product accepts a file.
func (c *fileChecker) good(claims licensefile.Claims) bool {
	c.t.Helper()
	all, _, err := inner.Of(c.Service).Revocations().List(c.t.Context(), claims.ProductID, "")
	if err != nil {
		c.t.Fatal(err)
	}
	list := &licensefile.Revocations{ProductID: claims.ProductID, Licenses: all}
	return licensefile.File{Claims: claims}.Check(licensefile.Expect{ProductID: claims.ProductID, Now: c.now, Revocations: list}) == nil
}

// newIsGood issues a file and checks that it is good, and no earlier one.
func (c *fileChecker) newIsGood() {
	c.t.Helper()
	before := c.issued
	if f := c.issue(); !c.good(f) {
		c.t.Fatal("a new file of an active license is refused")
	}
	for i, f := range before {
		if c.good(f) {
			c.t.Fatalf("file %d is accepted", i)
		}
	}
}

// TestNewFilesAfterAReturn: a license moves to another product and back, with and
// without a suspension on the way.
func TestNewFilesAfterAReturn(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	l := f.create(t)
	c := &fileChecker{fixture: f, t: t, id: l.ID}
	do := func(_ api.License, err error) { t.Helper(); is.NoErr(err) }
	move := func(product string) {
		t.Helper()
		do(f.Update(t.Context(), api.UpdateLicenseParams{ID: l.ID, ProductID: &product}))
	}
	suspend := func() { t.Helper(); do(f.Suspend(t.Context(), api.ChangeStateParams{ID: l.ID})) }
	reinstate := func() { t.Helper(); do(f.Reinstate(t.Context(), api.ChangeStateParams{ID: l.ID})) }

	c.newIsGood()
	move("p2")
	c.newIsGood()
	move(l.ProductID)
	c.newIsGood()
	suspend()
	move("p2")
	reinstate()
	c.newIsGood()
	move(l.ProductID)
	c.newIsGood()
	suspend()
	move("p2")
	move(l.ProductID)
	is.True(!c.good(c.issued[len(c.issued)-1]))
	reinstate()
	c.newIsGood()
	move("p2")
	c.newIsGood()
}

// TestNewFilesAfterAnImport: a license is deleted and imported from an export of
// its present or of an earlier state, alone or among many others.
func TestNewFilesAfterAnImport(t *testing.T) {
	for _, others := range []int{0, 150} {
		t.Run(fmt.Sprint(others), func(t *testing.T) {
			is := is.New(t)
			f := newFixture(t)
			l := f.create(t)
			c := &fileChecker{fixture: f, t: t, id: l.ID}
			c.newIsGood()
			row := func() []byte {
				t.Helper()
				var out bytes.Buffer
				is.NoErr(f.Export(t.Context(), &out, api.ListLicensesParams{}))
				return out.Bytes()
			}
			early := row()
			_, err := f.VoidFiles(t.Context(), api.ChangeStateParams{ID: l.ID})
			is.NoErr(err)
			c.newIsGood()
			late := row()
			for i, exported := range [][]byte{late, early, late} {
				is.NoErr(f.Delete(t.Context(), api.DeleteLicenseParams{ID: l.ID}))
				lines := bytes.Clone(exported)
				for n := range others {
					line, err := json.Marshal(map[string]any{"key": fmt.Sprintf("OTHER-%d-%d", i, n), "name": "n", "product_id": "p", "customer_id": "c"})
					is.NoErr(err)
					lines = append(append(lines, line...), '\n')
				}
				is.Equal(f.importLines(t, lines)[0], api.ImportCreated)
				read, err := f.Get(t.Context(), l.ID)
				is.NoErr(err)
				created, err := f.store.Events(t.Context(), store.EventQuery{Subject: l.ID, Descending: true, Limit: 1})
				is.NoErr(err)
				is.Equal(eventData(t, created[0]).License.Generation, read.Generation)
				c.newIsGood()
			}
		})
	}
}

// TestImportAfterTheFiles: once the files have expired, an import changes nothing.
func TestImportAfterTheFiles(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	l := f.create(t)
	c := &fileChecker{fixture: f, t: t, id: l.ID}
	c.issue()
	var out bytes.Buffer
	is.NoErr(f.Export(t.Context(), &out, api.ListLicensesParams{}))
	is.NoErr(f.Delete(t.Context(), api.DeleteLicenseParams{ID: l.ID}))
	f.now = f.now.Add(16 * day)
	f.importLines(t, out.Bytes())
	read, err := f.Get(t.Context(), l.ID)
	is.NoErr(err)
	is.Equal(read.Generation, int64(1))
	c.newIsGood()
}

func TestActivateWithFileHoldsTheSeat(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	l := f.create(t, limited, func(p *api.CreateLicenseParams) {
		p.LeaseSeconds, p.OfflineSeconds, p.Entitlements = ptr(int64(3600)), ptr(int64(1e6*2)), map[string]any{"export": true}
	})
	v, err := f.Activate(t.Context(), api.ActivateKeyParams{Key: l.Key, Fingerprint: "a", File: days14, Nonce: "n-1"})
	is.NoErr(err)
	c := v.FileClaims()
	is.Equal(c.LicenseID, l.ID)
	is.Equal(c.ProductID, l.ProductID)
	is.Equal(c.Name, l.Name)
	is.Equal(c.Generation, int64(1))
	is.Equal(c.ExpiresAt, f.now.Add(14*day))
	is.Equal(c.ActivationID, v.Activation.ID)
	is.Equal(c.FingerprintHash, licensefile.FingerprintHash(l.ID, "a"))
	is.Equal(c.Entitlements, map[string]any{"export": true})
	is.Equal(c.Nonce, "n-1")
	is.Equal(*v.Activation.HeldUntil, f.now.Add(14*day+licensefile.Leeway))
	is.Equal(*v.Activation.LeaseEndsAt, f.now.Add(time.Hour))
	is.Equal(v.RecheckAfter, int64(1800)) // the lease alone

	e, data := f.lastEvent(t)
	is.Equal(e.Type, api.EventFileIssued)
	is.Equal(e.Actor, "license:"+l.ID)
	is.Equal(*data.File, api.EventFile{ID: c.ID, Generation: 1, ExpiresAt: c.ExpiresAt})
	is.Equal(data.Activation.ID, v.Activation.ID)

	// The lease has ended, and the file holds the seat.
	f.now = f.now.Add(day)
	f.activateFile(t, l.Key, "b")
	_, err = f.Activate(t.Context(), api.ActivateKeyParams{Key: l.Key, Fingerprint: "c"})
	require.ErrorIs(t, err, api.ErrActivationLimit)
	again, err := f.Validate(t.Context(), api.ValidateKeyParams{Key: l.Key, Fingerprint: "a"})
	is.NoErr(err)
	is.True(again.Valid)
	is.Equal(again.Activation.ID, v.Activation.ID)
	is.Equal(*again.Activation.LeaseEndsAt, f.now.Add(time.Hour))
	is.Equal(*again.Activation.HeldUntil, *v.Activation.HeldUntil)

	// Both have passed.
	f.now = start.Add(14*day + licensefile.Leeway)
	_, err = f.Activate(t.Context(), api.ActivateKeyParams{Key: l.Key, Fingerprint: "c"})
	is.NoErr(err)
}

func TestFileUnderAHoldWritesNothing(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	l := f.create(t, limited)
	first := f.activateFile(t, l.Key, "a").FileClaims()
	before, _ := f.lastEvent(t)
	f.now = f.now.Add(time.Minute)
	v, err := f.Validate(t.Context(), api.ValidateKeyParams{Key: l.Key, Fingerprint: "a", File: days14, Nonce: "n"})
	is.NoErr(err)
	is.Equal(v.FileClaims().ExpiresAt, first.ExpiresAt) // it expires with the hold
	is.Equal(v.FileClaims().IssuedAt, f.now)
	is.Equal(v.FileClaims().Nonce, "n")
	is.True(v.FileClaims().ID != first.ID)
	after, _ := f.lastEvent(t)
	is.Equal(after.ID, before.ID)

	// A shorter file expires before the hold.
	v, err = f.Validate(t.Context(), api.ValidateKeyParams{Key: l.Key, Fingerprint: "a", File: api.Duration{Days: 1}})
	is.NoErr(err)
	is.Equal(v.FileClaims().ExpiresAt, f.now.Add(day))

	// Less than nine tenths are left.
	f.now = start.Add(2 * day)
	v, err = f.Validate(t.Context(), api.ValidateKeyParams{Key: l.Key, Fingerprint: "a", File: days14})
	is.NoErr(err)
	is.Equal(v.FileClaims().ExpiresAt, f.now.Add(14*day))
	is.Equal(*v.Activation.HeldUntil, f.now.Add(14*day+licensefile.Leeway))
	after, _ = f.lastEvent(t)
	is.Equal(after.ID, before.ID) // the file says what the first one said
}

func TestSpentSeats(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	l := f.create(t, seats(4, 0))
	release := func(fingerprint string) (api.Activation, error) {
		return f.Deactivate(t.Context(), api.DeactivateKeyParams{Key: l.Key, Fingerprint: fingerprint})
	}
	ids := map[string]string{}
	for _, fingerprint := range []string{"a", "b", "x", "y"} {
		ids[fingerprint] = f.activateFile(t, l.Key, fingerprint).Activation.ID
	}
	until := f.now.Add(14*day + licensefile.Leeway)
	a, err := release("a")
	is.NoErr(err)
	is.Equal(*a.OfflineUntil, until)
	for _, fingerprint := range []string{"b", "x", "y"} {
		_, err = release(fingerprint)
		is.NoErr(err)
	}
	for _, fingerprint := range []string{"c", "d", "f", "g"} {
		ids[fingerprint] = f.activateFile(t, l.Key, fingerprint).Activation.ID
	}

	// Four seats are spent: no fifth.
	_, err = release("c")
	held, ok := errors.AsType[*api.SeatHeldError](err)
	is.True(ok)
	is.Equal(held.OfflineUntil, until)
	_, err = f.Activate(t.Context(), api.ActivateKeyParams{Key: l.Key, Fingerprint: "e", TakeOver: api.TakeOverOldest})
	require.ErrorIs(t, err, api.ErrSeatHeld)
	_, err = f.ReleaseActivation(t.Context(), api.ReleaseActivationParams{LicenseID: l.ID, ActivationID: ids["c"]})
	require.ErrorIs(t, err, api.ErrSeatHeld)

	// An operator can force it.
	c, err := f.ReleaseActivation(t.Context(), api.ReleaseActivationParams{LicenseID: l.ID, ActivationID: ids["c"], Force: true})
	is.NoErr(err)
	is.Equal(*c.OfflineUntil, until)
	_, data := f.lastEvent(t)
	is.True(data.Forced)

	// A fingerprint that takes a seat again keeps its hold, and is not spent.
	v, err := f.Activate(t.Context(), api.ActivateKeyParams{Key: l.Key, Fingerprint: "a"})
	is.NoErr(err)
	is.Equal(*v.Activation.HeldUntil, until)
	_, err = release("a")
	require.ErrorIs(t, err, api.ErrSeatHeld) // b, x, y and the forced c
	f.now = until
	a, err = release("a")
	is.NoErr(err)
	is.Equal(a.OfflineUntil, nil)
}

func TestHoldOffline(t *testing.T) {
	is := is.New(t)
	f := newFixture(t, func(o *license.Options) { o.HoldOffline = true })
	l := f.create(t, limited)
	v := f.activateFile(t, l.Key, "a")
	_, err := f.Deactivate(t.Context(), api.DeactivateKeyParams{Key: l.Key, Fingerprint: "a"})
	require.ErrorIs(t, err, api.ErrSeatHeld)
	_, err = f.ReleaseActivation(t.Context(), api.ReleaseActivationParams{LicenseID: l.ID, ActivationID: v.Activation.ID, Force: true})
	is.NoErr(err)
	_, data := f.lastEvent(t)
	is.True(data.Forced)
}

func TestOverTheLimitTheOldestGetFiles(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	l := f.create(t)
	for _, fingerprint := range []string{"a", "b", "c"} {
		f.now = f.now.Add(time.Second)
		_, err := f.Activate(t.Context(), api.ActivateKeyParams{Key: l.Key, Fingerprint: fingerprint})
		is.NoErr(err)
	}
	_, err := f.Update(t.Context(), api.UpdateLicenseParams{ID: l.ID, MaxActivations: api.To(int64(2))})
	is.NoErr(err)
	v, err := f.Validate(t.Context(), api.ValidateKeyParams{Key: l.Key, Fingerprint: "c", File: days14})
	is.NoErr(err)
	is.True(v.Valid)
	is.Equal(v.FileReason.Code, api.VerdictActivationLimit)
	v, err = f.Validate(t.Context(), api.ValidateKeyParams{Key: l.Key, Fingerprint: "a", File: days14})
	is.NoErr(err)
	is.True(v.FileClaims() != nil)
	_, err = f.Deactivate(t.Context(), api.DeactivateKeyParams{Key: l.Key, Fingerprint: "b"})
	is.NoErr(err)
	v, err = f.Validate(t.Context(), api.ValidateKeyParams{Key: l.Key, Fingerprint: "c", File: days14})
	is.NoErr(err)
	is.True(v.FileClaims() != nil)
}
