package license_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
)

var days14 = api.Duration{Days: 14}

// limited gives a license two seats.
func limited(p *api.CreateLicenseParams) { p.MaxActivations = ptr(int64(2)) }

func (f *fixture) activateFile(t *testing.T, key, fingerprint string) license.VerdictWithFile {
	t.Helper()
	v, err := f.Activate(t.Context(), api.ActivateKeyParams{Key: key, Fingerprint: fingerprint, File: days14})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestFileLifetimes(t *testing.T) {
	for name, c := range map[string]struct {
		edit     func(*api.CreateLicenseParams)
		lifetime api.Duration
		key      bool
		want     time.Duration
	}{
		"a key gets 14 days":         {nil, api.Duration{Years: 1}, true, 14 * day},
		"by default":                 {nil, api.Duration{}, true, 14 * day},
		"a client gets what it asks": {nil, api.Duration{Days: 400}, false, 400 * day},
		"ten years":                  {nil, api.Duration{Years: 10}, false, start.AddDate(10, 0, 0).Sub(start)},
		"a minute":                   {nil, api.Duration{Minutes: 1}, true, time.Minute},
		"offline_seconds":            {func(p *api.CreateLicenseParams) { p.OfflineSeconds = ptr(int64(3600)) }, days14, true, time.Hour},
		"no time offline":            {func(p *api.CreateLicenseParams) { p.OfflineSeconds = ptr(int64(0)) }, days14, true, 2 * time.Hour},
		"two leases":                 {func(p *api.CreateLicenseParams) { p.LeaseSeconds = ptr(int64(900)) }, days14, true, 30 * time.Minute},
		"a short lease":              {func(p *api.CreateLicenseParams) { p.LeaseSeconds = ptr(int64(5)) }, days14, true, time.Minute},
		"a long lease":               {func(p *api.CreateLicenseParams) { p.LeaseSeconds = ptr(int64(1e9)) }, api.Duration{}, true, 14 * day},
		"a lease and offline":        {func(p *api.CreateLicenseParams) { p.LeaseSeconds, p.OfflineSeconds = ptr(int64(5)), ptr(int64(7200)) }, days14, true, 2 * time.Hour},
		"not for a client":           {func(p *api.CreateLicenseParams) { p.OfflineSeconds = ptr(int64(0)) }, days14, false, 14 * day},
		"the end of the license":     {func(p *api.CreateLicenseParams) { p.ExpiresAt, p.GraceSeconds = ptr(start.Add(day)), 3600 }, days14, false, 25 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			f := newFixture(t)
			edits := []func(*api.CreateLicenseParams){limited}
			if c.edit != nil {
				edits = append(edits, c.edit)
			}
			l := f.create(t, edits...)
			p := api.IssueFileParams{LicenseID: l.ID, Lifetime: c.lifetime, Fingerprint: "a"}
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
	_, err := f.Revoke(t.Context(), api.ChangeStateParams{ID: revoked.ID})
	is.NoErr(err)
	other, err := licensefile.NewRequest("another key", "a").Text()
	is.NoErr(err)

	issue := func(p api.IssueFileParams) error {
		_, err := f.IssueFile(t.Context(), p)
		return err
	}
	field := func(err error) string {
		var invalid *api.InvalidError
		if !errors.As(err, &invalid) {
			t.Fatal(err)
		}
		return invalid.Fields[0].Field
	}
	is.Equal(field(issue(api.IssueFileParams{})), "license_id")
	is.Equal(field(issue(api.IssueFileParams{LicenseID: l.ID, Key: l.Key})), "license_id")
	is.Equal(field(issue(api.IssueFileParams{LicenseID: l.ID})), "fingerprint") // its seats are limited
	is.Equal(field(issue(api.IssueFileParams{LicenseID: l.ID, Fingerprint: "a", Request: other})), "fingerprint")
	is.Equal(field(issue(api.IssueFileParams{LicenseID: l.ID, Fingerprint: "a", Lifetime: api.Duration{Years: 11}})), "lifetime")
	is.Equal(field(issue(api.IssueFileParams{LicenseID: l.ID, Fingerprint: "a", Lifetime: api.Duration{Seconds: 59}})), "lifetime")
	is.Equal(field(issue(api.IssueFileParams{LicenseID: l.ID, Fingerprint: "a", Nonce: "no spaces"})), "nonce")
	is.Equal(field(issue(api.IssueFileParams{LicenseID: l.ID, Fingerprint: "a", Nonce: strings.Repeat("n", 65)})), "nonce")
	is.Equal(field(issue(api.IssueFileParams{LicenseID: l.ID, Request: "LICENSE-REQUEST-1-"})), "request")
	is.Equal(field(issue(api.IssueFileParams{LicenseID: l.ID, Request: other})), "request")
	require.ErrorIs(t, issue(api.IssueFileParams{LicenseID: "lic_00000000000000000000000000"}), api.ErrNotFound)
	require.ErrorIs(t, issue(api.IssueFileParams{Key: license.NewKey()}), api.ErrNotFound)
	require.ErrorIs(t, issue(api.IssueFileParams{LicenseID: revoked.ID}), api.ErrDenied)
	require.ErrorIs(t, issue(api.IssueFileParams{LicenseID: l.ID, ActivationID: "act_00000000000000000000000000"}), api.ErrNotFound)
	_, err = f.Validate(t.Context(), api.ValidateKeyParams{Key: l.Key, File: days14})
	is.Equal(field(err), "fingerprint")
	_, err = f.Validate(t.Context(), api.ValidateKeyParams{Key: l.Key, Nonce: "n"})
	is.Equal(field(err), "nonce")
	_, err = f.Validate(t.Context(), api.ValidateKeyParams{Key: l.Key, Fingerprint: "a", File: api.Duration{Seconds: 1}})
	is.Equal(field(err), "file")
	v, err := f.Validate(t.Context(), api.ValidateKeyParams{Key: l.Key, Fingerprint: "a", File: days14})
	is.NoErr(err)
	is.Equal(v.Code, api.VerdictNotActivated)
	is.Equal(v.FileClaims(), nil)

	// Only entitlements can make a file too large.
	large := f.create(t, func(p *api.CreateLicenseParams) {
		p.Entitlements = map[string]any{}
		for i := range 100 {
			p.Entitlements[string(rune('一'+i))] = strings.Repeat("x", 255)
		}
	})
	is.Equal(field(issue(api.IssueFileParams{LicenseID: large.ID})), "entitlements")
	v, err = f.Validate(t.Context(), api.ValidateKeyParams{Key: large.Key, File: days14})
	is.NoErr(err)
	is.Equal(v.FileReason.Code, api.VerdictFileTooLarge)
}

// TestNoFileWritesNothing: a call for a file that is refused takes no seat, so a
// host may continue its own Update after it, whether or not there is a seat.
func TestNoFileWritesNothing(t *testing.T) {
	entitlements := map[string]any{}
	for i := range 100 {
		entitlements[string(rune('一'+i))] = strings.Repeat("x", 255)
	}
	for name, c := range map[string]struct {
		edit func(*api.CreateLicenseParams)
		want error
	}{
		"file_too_large": {func(p *api.CreateLicenseParams) { p.Entitlements = entitlements }, api.ErrInvalid},
		"ends now":       {func(p *api.CreateLicenseParams) { p.ExpiresAt = ptr(start.Add(500 * time.Millisecond)) }, api.ErrNoFile},
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
					_, err := s.IssueFile(t.Context(), api.IssueFileParams{Key: l.Key, Fingerprint: "a"})
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
	file, err := f.IssueFile(t.Context(), api.IssueFileParams{LicenseID: l.ID, Lifetime: days14})
	is.NoErr(err)
	is.Equal(file.Activation, nil)
	is.Equal(file.FileClaims().FingerprintHash, "")
	issued, data := f.lastEvent(t)
	is.Equal(issued.Type, api.EventFileIssued)
	is.Equal(issued.Actor, "go")
	is.Equal(data.File.ID, file.ID)
	f.now = f.now.Add(day)
	v, err := f.Validate(t.Context(), api.ValidateKeyParams{Key: l.Key, File: api.Duration{Days: 13}})
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
	file, err := f.IssueFile(t.Context(), api.IssueFileParams{LicenseID: l.ID, Request: text})
	is.NoErr(err)
	is.Equal(file.FileClaims().Nonce, request.Nonce)
	is.Equal(file.Activation.Fingerprint, "machine")
	seen := file.Activation.LastSeenAt
	f.now = f.now.Add(5 * day)
	file, err = f.IssueFile(t.Context(), api.IssueFileParams{LicenseID: l.ID, ActivationID: file.Activation.ID})
	is.NoErr(err)
	is.Equal(file.Activation.LastSeenAt, seen) // an operator is not the program
	is.Equal(file.ExpiresAt, f.now.Add(14*day))
	_, err = f.ReleaseActivation(t.Context(), api.ReleaseActivationParams{LicenseID: l.ID, ActivationID: file.Activation.ID})
	is.NoErr(err)
	_, err = f.IssueFile(t.Context(), api.IssueFileParams{LicenseID: l.ID, ActivationID: file.Activation.ID})
	require.ErrorIs(t, err, api.ErrDenied)
}

func TestGeneration(t *testing.T) {
	ctx := t.Context()
	update := func(p api.UpdateLicenseParams) func(*fixture, string) (api.License, error) {
		return func(f *fixture, id string) (api.License, error) {
			p.ID = id
			return f.Update(ctx, p)
		}
	}
	for name, c := range map[string]struct {
		change func(*fixture, string) (api.License, error)
		rises  bool
	}{
		"rekey": {func(f *fixture, id string) (api.License, error) { return f.Rekey(ctx, api.RekeyLicenseParams{ID: id}) }, true},
		"void files": {func(f *fixture, id string) (api.License, error) {
			return f.VoidFiles(ctx, api.ChangeStateParams{ID: id})
		}, true},
		"another product":     {update(api.UpdateLicenseParams{ProductID: ptr("p2")}), true},
		"earlier end":         {update(api.UpdateLicenseParams{ExpiresAt: api.To(start.Add(day))}), true},
		"shorter grace":       {update(api.UpdateLicenseParams{GraceSeconds: ptr(int64(0))}), true},
		"earlier updates":     {update(api.UpdateLicenseParams{UpdatesUntil: api.To(start.Add(day))}), true},
		"later updates":       {update(api.UpdateLicenseParams{UpdatesUntil: api.To(start.Add(900 * day))}), false},
		"later start":         {update(api.UpdateLicenseParams{StartsAt: api.To(start.Add(day))}), true},
		"entitlement removed": {update(api.UpdateLicenseParams{Entitlements: api.To(map[string]any{"users": nil})}), true},
		"entitlement changed": {update(api.UpdateLicenseParams{Entitlements: api.To(map[string]any{"users": 4})}), true},
		"limited":             {update(api.UpdateLicenseParams{MaxActivations: api.To(int64(9))}), true},
		"entitlement added":   {update(api.UpdateLicenseParams{Entitlements: api.To(map[string]any{"export": true})}), false},
		"later end":           {update(api.UpdateLicenseParams{ExpiresAt: api.To(start.Add(900 * day))}), false},
		"no end":              {update(api.UpdateLicenseParams{ExpiresAt: api.ToNull[time.Time]()}), false},
		"another name":        {update(api.UpdateLicenseParams{Name: ptr("x")}), false},
		"suspended": {func(f *fixture, id string) (api.License, error) {
			return f.Suspend(ctx, api.ChangeStateParams{ID: id})
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			f := newFixture(t)
			l := f.create(t, func(p *api.CreateLicenseParams) {
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
		all, _, err := inner.Of(f.Service).Revocations().List(t.Context(), productID, "")
		is.NoErr(err)
		for _, one := range all { // one at a time says the same
			is.Equal(one.Hash, licensefile.LicenseHash(l.ID))
			alone, _, err := inner.Of(f.Service).Revocations().List(t.Context(), productID, l.ID)
			is.NoErr(err)
			is.Equal(alone, all)
		}
		return all
	}
	is.Equal(len(refused(l.ProductID)), 0)
	_, _, err := inner.Of(f.Service).Revocations().List(t.Context(), "unknown", "")
	require.ErrorIs(t, err, api.ErrNotFound)
	_, _, err = inner.Of(f.Service).Revocations().List(t.Context(), "unknown", l.ID)
	require.ErrorIs(t, err, api.ErrNotFound)

	_, err = f.Suspend(t.Context(), api.ChangeStateParams{ID: other.ID}) // it has no files
	is.NoErr(err)
	file, err := f.IssueFile(t.Context(), api.IssueFileParams{LicenseID: l.ID, Lifetime: days14})
	is.NoErr(err)
	is.Equal(len(refused(l.ProductID)), 0)

	_, err = f.Suspend(t.Context(), api.ChangeStateParams{ID: l.ID})
	is.NoErr(err)
	all := refused(l.ProductID)
	is.Equal(len(all), 1)
	is.Equal(all[0].Hash, licensefile.LicenseHash(l.ID))
	is.Equal(all[0].MinGeneration, int64(licensefile.AllGenerations))
	is.True(!all[0].Until.Before(file.ExpiresAt))

	_, err = f.VoidFiles(t.Context(), api.ChangeStateParams{ID: l.ID})
	is.NoErr(err)
	is.Equal(refused(l.ProductID)[0].MinGeneration, int64(licensefile.AllGenerations))
	_, err = f.Reinstate(t.Context(), api.ChangeStateParams{ID: l.ID})
	is.NoErr(err)
	is.Equal(refused(l.ProductID)[0].MinGeneration, int64(2))

	// The files for the former product are on its list.
	_, err = f.Update(t.Context(), api.UpdateLicenseParams{ID: l.ID, ProductID: ptr("p2")})
	is.NoErr(err)
	is.Equal(refused(l.ProductID)[0].MinGeneration, int64(3))
	is.Equal(len(refused("p2")), 0)
	is.NoErr(f.Delete(t.Context(), api.DeleteLicenseParams{ID: l.ID}))
	is.Equal(refused("p2")[0].MinGeneration, int64(licensefile.AllGenerations))

	// Entries last as long as the longest file.
	f.now = all[0].Until
	is.Equal(len(refused(l.ProductID)), 0)
	alone, _, err := inner.Of(f.Service).Revocations().List(t.Context(), other.ProductID, l.ID)
	is.NoErr(err)
	is.Equal(len(alone), 0)
}

func TestFilesUntil(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	l := f.create(t, limited)
	until, err := inner.Of(f.Service).Licenses().FilesUntil(t.Context(), l.ID)
	is.NoErr(err)
	is.True(until.IsZero())
	v := f.activateFile(t, l.Key, "a")
	until, err = inner.Of(f.Service).Licenses().FilesUntil(t.Context(), l.ID)
	is.NoErr(err)
	is.True(!until.Before(v.FileClaims().ExpiresAt) && until.Before(f.now.Add(16*day)))
	_, err = f.VoidFiles(t.Context(), api.ChangeStateParams{ID: l.ID})
	is.NoErr(err)
	voided, err := inner.Of(f.Service).Licenses().FilesUntil(t.Context(), l.ID)
	is.NoErr(err)
	is.Equal(voided, until) // a program may not have seen the list

	_, err = inner.Of(f.As(license.Caller{Products: []string{"other"}})).Licenses().FilesUntil(t.Context(), l.ID)
	require.ErrorIs(t, err, api.ErrNotFound)
	f.now = until
	until, err = inner.Of(f.Service).Licenses().FilesUntil(t.Context(), l.ID)
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
		_, err := f.Update(t.Context(), api.UpdateLicenseParams{ID: l.ID, MaxActivations: api.To(n)})
		is.NoErr(err)
	}
	limit(2)
	f.now = f.now.Add(2 * time.Hour) // the lease of c has ended
	is.NoErr(f.Atomically(t.Context(), func(s *license.Service) error {
		_, err := s.Activate(t.Context(), api.ActivateKeyParams{Key: l.Key, Fingerprint: "d", TakeOver: api.TakeOverOldest})
		require.ErrorIs(t, err, api.ErrSeatHeld)
		return nil
	}))
	limit(3)
	f.activate(t, l.Key, "d")
}

// TestRepeatedFilesAppendNoEvent: a program that asks for short files again and
// again writes the hold of its seat, and one event.
func TestRepeatedFilesAppendNoEvent(t *testing.T) {
	for name, edit := range map[string]func(*api.CreateLicenseParams){
		"of an activation":      limited,
		"without an activation": func(*api.CreateLicenseParams) {},
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			f := newFixture(t)
			l := f.create(t, edit)
			ask := api.IssueFileParams{Key: l.Key, Lifetime: api.Duration{Minutes: 1}}
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
					if e == api.EventFileIssued {
						n++
					}
				}
				return n
			}
			is.Equal(issued(), 1)
			is.Equal(issued(), 1)
			if ask.Fingerprint != "" {
				until, err := inner.Of(f.Service).Licenses().FilesUntil(t.Context(), l.ID)
				is.NoErr(err)
				is.True(until.After(f.now.Add(time.Minute))) // the hold was written nevertheless
			}
			_, err := f.Update(t.Context(), api.UpdateLicenseParams{ID: l.ID, Entitlements: api.To(map[string]any{"export": true})})
			is.NoErr(err)
			is.Equal(issued(), 2)
			is.Equal(issued(), 2)
			_, err = f.VoidFiles(t.Context(), api.ChangeStateParams{ID: l.ID})
			is.NoErr(err)
			is.Equal(issued(), 3)
			is.Equal(issued(), 3)
		})
	}
}
