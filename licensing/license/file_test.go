package license_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/internal/require"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
)

var days14 = license.Duration{Days: 14}

// limited gives a license two seats.
func limited(p *license.CreateParams) { p.MaxActivations = ptr(int64(2)) }

func (f *fixture) activateFile(t *testing.T, key, fingerprint string) license.VerdictWithFile {
	t.Helper()
	v, err := f.Activate(t.Context(), license.ActivateParams{Key: key, Fingerprint: fingerprint, File: days14})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestFileLifetimes(t *testing.T) {
	for name, c := range map[string]struct {
		edit     func(*license.CreateParams)
		lifetime license.Duration
		key      bool
		want     time.Duration
	}{
		"a key gets 14 days":         {nil, license.Duration{Years: 1}, true, 14 * day},
		"by default":                 {nil, license.Duration{}, true, 14 * day},
		"a client gets what it asks": {nil, license.Duration{Days: 400}, false, 400 * day},
		"ten years":                  {nil, license.Duration{Years: 10}, false, start.AddDate(10, 0, 0).Sub(start)},
		"a minute":                   {nil, license.Duration{Minutes: 1}, true, time.Minute},
		"offline_seconds":            {func(p *license.CreateParams) { p.OfflineSeconds = ptr(int64(3600)) }, days14, true, time.Hour},
		"no time offline":            {func(p *license.CreateParams) { p.OfflineSeconds = ptr(int64(0)) }, days14, true, 2 * time.Hour},
		"two leases":                 {func(p *license.CreateParams) { p.LeaseSeconds = ptr(int64(900)) }, days14, true, 30 * time.Minute},
		"a short lease":              {func(p *license.CreateParams) { p.LeaseSeconds = ptr(int64(5)) }, days14, true, time.Minute},
		"a long lease":               {func(p *license.CreateParams) { p.LeaseSeconds = ptr(int64(1e9)) }, license.Duration{}, true, 14 * day},
		"a lease and offline":        {func(p *license.CreateParams) { p.LeaseSeconds, p.OfflineSeconds = ptr(int64(5)), ptr(int64(7200)) }, days14, true, 2 * time.Hour},
		"not for a client":           {func(p *license.CreateParams) { p.OfflineSeconds = ptr(int64(0)) }, days14, false, 14 * day},
		"the end of the license":     {func(p *license.CreateParams) { p.ExpiresAt, p.GraceSeconds = ptr(start.Add(day)), 3600 }, days14, false, 25 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			f := newFixture(t)
			edits := []func(*license.CreateParams){limited}
			if c.edit != nil {
				edits = append(edits, c.edit)
			}
			l := f.create(t, edits...)
			p := license.IssueFileParams{LicenseID: l.ID, Lifetime: c.lifetime, Fingerprint: "a"}
			if c.key {
				p.LicenseID, p.Key = "", l.Key
			}
			file, err := f.IssueFile(t.Context(), p)
			is.NoErr(err)
			is.Equal(file.ExpiresAt, f.now.Add(c.want))
			is.Equal(file.Activation.Fingerprint, "a")
			is.Equal(*file.Activation.HeldUntil, f.now.Add(c.want+licensefile.Leeway))
		})
	}
}

func TestIssueFileRefusals(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	l := f.create(t, limited)
	revoked := f.create(t)
	_, err := f.Revoke(t.Context(), license.MoveParams{ID: revoked.ID})
	is.NoErr(err)
	other, err := licensefile.NewRequest("another key", "a").Text()
	is.NoErr(err)

	issue := func(p license.IssueFileParams) error {
		_, err := f.IssueFile(t.Context(), p)
		return err
	}
	field := func(err error) string {
		var invalid *license.InvalidError
		if !errors.As(err, &invalid) {
			t.Fatal(err)
		}
		return invalid.Fields[0].Field
	}
	is.Equal(field(issue(license.IssueFileParams{})), "license_id")
	is.Equal(field(issue(license.IssueFileParams{LicenseID: l.ID, Key: l.Key})), "license_id")
	is.Equal(field(issue(license.IssueFileParams{LicenseID: l.ID})), "fingerprint") // its seats are limited
	is.Equal(field(issue(license.IssueFileParams{LicenseID: l.ID, Fingerprint: "a", Request: other})), "fingerprint")
	is.Equal(field(issue(license.IssueFileParams{LicenseID: l.ID, Fingerprint: "a", Lifetime: license.Duration{Years: 11}})), "lifetime")
	is.Equal(field(issue(license.IssueFileParams{LicenseID: l.ID, Fingerprint: "a", Lifetime: license.Duration{Seconds: 59}})), "lifetime")
	is.Equal(field(issue(license.IssueFileParams{LicenseID: l.ID, Fingerprint: "a", Nonce: "no spaces"})), "nonce")
	is.Equal(field(issue(license.IssueFileParams{LicenseID: l.ID, Fingerprint: "a", Nonce: strings.Repeat("n", 65)})), "nonce")
	is.Equal(field(issue(license.IssueFileParams{LicenseID: l.ID, Request: "LICENSE-REQUEST-1-"})), "request")
	is.Equal(field(issue(license.IssueFileParams{LicenseID: l.ID, Request: other})), "request")
	require.ErrorIs(t, issue(license.IssueFileParams{LicenseID: "lic_00000000000000000000000000"}), license.ErrNotFound)
	require.ErrorIs(t, issue(license.IssueFileParams{Key: license.NewKey()}), license.ErrNotFound)
	require.ErrorIs(t, issue(license.IssueFileParams{LicenseID: revoked.ID}), license.ErrDenied)
	require.ErrorIs(t, issue(license.IssueFileParams{LicenseID: l.ID, ActivationID: "act_00000000000000000000000000"}), license.ErrNotFound)
	_, err = f.Validate(t.Context(), license.ValidateParams{Key: l.Key, File: days14})
	is.Equal(field(err), "fingerprint")
	_, err = f.Validate(t.Context(), license.ValidateParams{Key: l.Key, Nonce: "n"})
	is.Equal(field(err), "nonce")
	_, err = f.Validate(t.Context(), license.ValidateParams{Key: l.Key, Fingerprint: "a", File: license.Duration{Seconds: 1}})
	is.Equal(field(err), "file")
	v, err := f.Validate(t.Context(), license.ValidateParams{Key: l.Key, Fingerprint: "a", File: days14})
	is.NoErr(err)
	is.Equal(v.Code, license.VerdictNotActivated)
	is.Equal(v.FileClaims(), nil)

	// Only entitlements can make a file too large.
	large := f.create(t, func(p *license.CreateParams) {
		p.Entitlements = map[string]any{}
		for i := range 100 {
			p.Entitlements[string(rune('一'+i))] = strings.Repeat("x", 255)
		}
	})
	is.Equal(field(issue(license.IssueFileParams{LicenseID: large.ID})), "entitlements")
	v, err = f.Validate(t.Context(), license.ValidateParams{Key: large.Key, File: days14})
	is.NoErr(err)
	is.Equal(v.FileReason.Code, license.FileTooLarge)
}

// TestNoFileWritesNothing: a call for a file that is refused takes no seat, so a
// host may continue its own Update after it, whether or not there is a seat.
func TestNoFileWritesNothing(t *testing.T) {
	entitlements := map[string]any{}
	for i := range 100 {
		entitlements[string(rune('一'+i))] = strings.Repeat("x", 255)
	}
	for name, c := range map[string]struct {
		edit func(*license.CreateParams)
		want error
	}{
		"file_too_large": {func(p *license.CreateParams) { p.Entitlements = entitlements }, license.ErrInvalid},
		"ends now":       {func(p *license.CreateParams) { p.ExpiresAt = ptr(start.Add(500 * time.Millisecond)) }, license.ErrNoFile},
	} {
		for _, seated := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, seated %t", name, seated), func(t *testing.T) {
				is := is.New(t)
				f := newFixture(t)
				l := f.create(t, limited, c.edit)
				if seated {
					f.activate(t, l.Key, "a")
				}
				before := f.events(t, l.ID)
				is.NoErr(f.Atomically(t.Context(), func(s *license.Service) error {
					_, err := s.IssueFile(t.Context(), license.IssueFileParams{Key: l.Key, Fingerprint: "a"})
					require.ErrorIs(t, err, c.want)
					return nil
				}))
				is.Equal(f.events(t, l.ID), before)
			})
		}
	}
}

func TestFilesOfAnUnlimitedLicense(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	l := f.create(t)
	file, err := f.IssueFile(t.Context(), license.IssueFileParams{LicenseID: l.ID, Lifetime: days14})
	is.NoErr(err)
	is.Equal(file.Activation, nil)
	is.Equal(file.FileClaims().FingerprintHash, "")
	issued, data := f.lastEvent(t)
	is.Equal(issued.Type, license.EventFileIssued)
	is.Equal(issued.Actor, "go")
	is.Equal(data.File.ID, file.ID)
	f.now = f.now.Add(day)
	v, err := f.Validate(t.Context(), license.ValidateParams{Key: l.Key, File: license.Duration{Days: 13}})
	is.NoErr(err)
	is.Equal(v.FileClaims().ExpiresAt, f.now.Add(13*day))
	last, _ := f.lastEvent(t)
	is.Equal(last.ID, issued.ID) // the stored end of the files is not earlier, so nothing is written
}

func TestRequestText(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	l := f.create(t, limited)
	request := licensefile.NewRequest(l.Key, "machine")
	text, err := request.Text()
	is.NoErr(err)
	file, err := f.IssueFile(t.Context(), license.IssueFileParams{LicenseID: l.ID, Request: text})
	is.NoErr(err)
	is.Equal(file.FileClaims().Nonce, request.Nonce)
	is.Equal(file.Activation.Fingerprint, "machine")
	seen := file.Activation.LastSeenAt
	f.now = f.now.Add(5 * day)
	file, err = f.IssueFile(t.Context(), license.IssueFileParams{LicenseID: l.ID, ActivationID: file.Activation.ID})
	is.NoErr(err)
	is.Equal(file.Activation.LastSeenAt, seen) // an operator is not the program
	is.Equal(file.ExpiresAt, f.now.Add(14*day))
	_, err = f.ReleaseActivation(t.Context(), license.ReleaseParams{LicenseID: l.ID, ActivationID: file.Activation.ID})
	is.NoErr(err)
	_, err = f.IssueFile(t.Context(), license.IssueFileParams{LicenseID: l.ID, ActivationID: file.Activation.ID})
	require.ErrorIs(t, err, license.ErrDenied)
}

func TestGeneration(t *testing.T) {
	ctx := t.Context()
	update := func(p license.UpdateParams) func(*fixture, string) (license.License, error) {
		return func(f *fixture, id string) (license.License, error) {
			p.ID = id
			return f.Update(ctx, p)
		}
	}
	for name, c := range map[string]struct {
		change func(*fixture, string) (license.License, error)
		rises  bool
	}{
		"rekey": {func(f *fixture, id string) (license.License, error) { return f.Rekey(ctx, license.RekeyParams{ID: id}) }, true},
		"void files": {func(f *fixture, id string) (license.License, error) {
			return f.VoidFiles(ctx, license.MoveParams{ID: id})
		}, true},
		"another product":     {update(license.UpdateParams{ProductID: ptr("p2")}), true},
		"earlier end":         {update(license.UpdateParams{ExpiresAt: license.To(start.Add(day))}), true},
		"shorter grace":       {update(license.UpdateParams{GraceSeconds: ptr(int64(0))}), true},
		"earlier updates":     {update(license.UpdateParams{UpdatesUntil: license.To(start.Add(day))}), true},
		"later updates":       {update(license.UpdateParams{UpdatesUntil: license.To(start.Add(900 * day))}), false},
		"later start":         {update(license.UpdateParams{StartsAt: license.To(start.Add(day))}), true},
		"entitlement removed": {update(license.UpdateParams{Entitlements: license.To(map[string]any{"users": nil})}), true},
		"entitlement changed": {update(license.UpdateParams{Entitlements: license.To(map[string]any{"users": 4})}), true},
		"limited":             {update(license.UpdateParams{MaxActivations: license.To(int64(9))}), true},
		"entitlement added":   {update(license.UpdateParams{Entitlements: license.To(map[string]any{"export": true})}), false},
		"later end":           {update(license.UpdateParams{ExpiresAt: license.To(start.Add(900 * day))}), false},
		"no end":              {update(license.UpdateParams{ExpiresAt: license.ToNull[time.Time]()}), false},
		"another name":        {update(license.UpdateParams{Name: ptr("x")}), false},
		"suspended": {func(f *fixture, id string) (license.License, error) {
			return f.Suspend(ctx, license.MoveParams{ID: id})
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			f := newFixture(t)
			l := f.create(t, func(p *license.CreateParams) {
				p.ExpiresAt, p.GraceSeconds, p.Entitlements = ptr(start.Add(365*day)), 60, map[string]any{"users": 5}
				p.UpdatesUntil = p.ExpiresAt
			})
			is.Equal(l.Generation, int64(1))
			changed, err := c.change(f, l.ID)
			is.NoErr(err)
			want := int64(1)
			if c.rises {
				want = 2
			}
			is.Equal(changed.Generation, want)
			read, err := f.Get(t.Context(), l.ID)
			is.NoErr(err)
			is.Equal(read.Generation, want)
		})
	}
}

func TestRevokedFiles(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	l, other := f.create(t), f.create(t)
	refused := func(productID string) []licensefile.RevokedLicense {
		t.Helper()
		all, _, err := inner.Of(f.Service).RevokedFiles(t.Context(), productID, "")
		is.NoErr(err)
		for _, one := range all { // one at a time says the same
			is.Equal(one.Hash, licensefile.LicenseHash(l.ID))
			alone, _, err := inner.Of(f.Service).RevokedFiles(t.Context(), productID, l.ID)
			is.NoErr(err)
			is.Equal(alone, all)
		}
		return all
	}
	is.Equal(len(refused(l.ProductID)), 0)
	_, _, err := inner.Of(f.Service).RevokedFiles(t.Context(), "unknown", "")
	require.ErrorIs(t, err, license.ErrNotFound)
	_, _, err = inner.Of(f.Service).RevokedFiles(t.Context(), "unknown", l.ID)
	require.ErrorIs(t, err, license.ErrNotFound)

	_, err = f.Suspend(t.Context(), license.MoveParams{ID: other.ID}) // it has no files
	is.NoErr(err)
	file, err := f.IssueFile(t.Context(), license.IssueFileParams{LicenseID: l.ID, Lifetime: days14})
	is.NoErr(err)
	is.Equal(len(refused(l.ProductID)), 0)

	_, err = f.Suspend(t.Context(), license.MoveParams{ID: l.ID})
	is.NoErr(err)
	all := refused(l.ProductID)
	is.Equal(len(all), 1)
	is.Equal(all[0].Hash, licensefile.LicenseHash(l.ID))
	is.Equal(all[0].MinGeneration, int64(licensefile.AllGenerations))
	is.True(!all[0].Until.Before(file.ExpiresAt))

	_, err = f.VoidFiles(t.Context(), license.MoveParams{ID: l.ID})
	is.NoErr(err)
	is.Equal(refused(l.ProductID)[0].MinGeneration, int64(licensefile.AllGenerations))
	_, err = f.Reinstate(t.Context(), license.MoveParams{ID: l.ID})
	is.NoErr(err)
	is.Equal(refused(l.ProductID)[0].MinGeneration, int64(2))

	// The files for the former product are on its list.
	_, err = f.Update(t.Context(), license.UpdateParams{ID: l.ID, ProductID: ptr("p2")})
	is.NoErr(err)
	is.Equal(refused(l.ProductID)[0].MinGeneration, int64(3))
	is.Equal(len(refused("p2")), 0)
	is.NoErr(f.Delete(t.Context(), license.DeleteParams{ID: l.ID}))
	is.Equal(refused("p2")[0].MinGeneration, int64(licensefile.AllGenerations))

	// Entries last as long as the longest file.
	f.now = all[0].Until
	is.Equal(len(refused(l.ProductID)), 0)
	alone, _, err := inner.Of(f.Service).RevokedFiles(t.Context(), other.ProductID, l.ID)
	is.NoErr(err)
	is.Equal(len(alone), 0)
}

func TestFilesUntil(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	l := f.create(t, limited)
	until, err := inner.Of(f.Service).FilesUntil(t.Context(), l.ID)
	is.NoErr(err)
	is.True(until.IsZero())
	v := f.activateFile(t, l.Key, "a")
	until, err = inner.Of(f.Service).FilesUntil(t.Context(), l.ID)
	is.NoErr(err)
	is.True(!until.Before(v.FileClaims().ExpiresAt) && until.Before(f.now.Add(16*day)))
	_, err = f.VoidFiles(t.Context(), license.MoveParams{ID: l.ID})
	is.NoErr(err)
	voided, err := inner.Of(f.Service).FilesUntil(t.Context(), l.ID)
	is.NoErr(err)
	is.Equal(voided, until) // a program may not have seen the list

	_, err = inner.Of(f.As(license.Caller{Products: []string{"other"}})).FilesUntil(t.Context(), l.ID)
	require.ErrorIs(t, err, license.ErrNotFound)
	f.now = until
	until, err = inner.Of(f.Service).FilesUntil(t.Context(), l.ID)
	is.NoErr(err)
	is.True(until.IsZero())
}

// TestARefusedTakeOverKeepsTheCount: a call that is refused inside Atomically has
// still ended a lease, and the count of seats says so.
func TestARefusedTakeOverKeepsTheCount(t *testing.T) {
	is := is.New(t)
	f := newFixture(t, func(o *license.Options) { o.HoldOffline = true })
	l := f.create(t, seats(3, 3600))
	f.activateFile(t, l.Key, "a")
	f.activateFile(t, l.Key, "b")
	f.activate(t, l.Key, "c")
	limit := func(n int64) {
		_, err := f.Update(t.Context(), license.UpdateParams{ID: l.ID, MaxActivations: license.To(n)})
		is.NoErr(err)
	}
	limit(2)
	f.now = f.now.Add(2 * time.Hour) // the lease of c has ended
	is.NoErr(f.Atomically(t.Context(), func(s *license.Service) error {
		_, err := s.Activate(t.Context(), license.ActivateParams{Key: l.Key, Fingerprint: "d", TakeOver: license.TakeOverOldest})
		require.ErrorIs(t, err, license.ErrSeatHeld)
		return nil
	}))
	limit(3)
	f.activate(t, l.Key, "d")
}

// TestRepeatedFilesAppendNoEvent: a program that asks for short files again and
// again writes the hold of its seat, and one event.
func TestRepeatedFilesAppendNoEvent(t *testing.T) {
	for name, edit := range map[string]func(*license.CreateParams){
		"of an activation":      limited,
		"without an activation": func(*license.CreateParams) {},
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			f := newFixture(t)
			l := f.create(t, edit)
			ask := license.IssueFileParams{Key: l.Key, Lifetime: license.Duration{Minutes: 1}}
			if l.MaxActivations != nil {
				ask.Fingerprint = "a"
			}
			issued := func() (n int) {
				t.Helper()
				f.now = f.now.Add(time.Minute)
				ask.Nonce += "n"
				file, err := f.IssueFile(t.Context(), ask)
				is.NoErr(err)
				is.Equal(file.ExpiresAt, f.now.Add(time.Minute))
				for _, e := range f.events(t, l.ID) {
					if e == license.EventFileIssued {
						n++
					}
				}
				return n
			}
			is.Equal(issued(), 1)
			is.Equal(issued(), 1)
			if ask.Fingerprint != "" {
				until, err := inner.Of(f.Service).FilesUntil(t.Context(), l.ID)
				is.NoErr(err)
				is.True(until.After(f.now.Add(time.Minute))) // the hold was written nevertheless
			}
			_, err := f.Update(t.Context(), license.UpdateParams{ID: l.ID, Entitlements: license.To(map[string]any{"export": true})})
			is.NoErr(err)
			is.Equal(issued(), 2)
			is.Equal(issued(), 2)
			_, err = f.VoidFiles(t.Context(), license.MoveParams{ID: l.ID})
			is.NoErr(err)
			is.Equal(issued(), 3)
			is.Equal(issued(), 3)
		})
	}
}
