package dashboard_test

import (
	"crypto/ed25519"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth/operator"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
)

// verified returns a downloaded license file, verified with the published keys.
func (s *site) verified(a reply) licensefile.File {
	s.t.Helper()
	is := is.New(s.t)
	is.Equal(a.StatusCode, http.StatusOK)
	set, err := s.Files().KeySet(s.t.Context())
	is.NoErr(err)
	file, err := set.Verify(a.body)
	is.NoErr(err)
	return file
}

// TestIssueLicenseFile issues files for everything that a file can be for.
func TestIssueLicenseFile(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	v := s.admin()
	l := s.license(api.CreateLicenseParams{Name: "Atlas", ProductID: "atlas pro", Terms: api.Terms{MaxActivations: ptr[int64](3)}})
	seat := s.activate(l, "machine-1", "Reception")
	page := "licenses/" + l.ID + "/file"
	require.Contains(t, v.get("licenses/"+l.ID).body, page+`"`)
	form := v.get(page)
	require.Contains(t, form.body, `value="`+seat.ID+`" checked> <span>Reception <span class="sub">machine-1</span>`)
	require.Contains(t, form.body, " data-download>")
	require.NotContains(t, form.body, "Any machine")

	a := v.post(page, "lifetime", "2", "lifetime_unit", "w", "for", seat.ID)
	file := s.verified(a)
	is.Equal(a.Header.Get("Content-Type"), "application/jwt")
	is.Equal(a.Header.Get("Content-Disposition"), `attachment; filename="atlas-pro-Reception-2026-03-15.license"`)
	is.Equal(a.Header.Get("Cache-Control"), "no-store")
	is.Equal(file.LicenseID, l.ID)
	is.Equal(file.ActivationID, seat.ID)
	is.Equal(file.ExpiresAt, s.clock().Add(14*24*time.Hour))
	is.Equal(s.verified(v.post(page, "lifetime", "2w", "for", seat.ID)).ExpiresAt, file.ExpiresAt) // again

	file = s.verified(v.post(page, "lifetime", "1y", "for", "fingerprint", "fingerprint", " machine-2 "))
	is.Equal(file.FingerprintHash, licensefile.FingerprintHash(l.ID, "machine-2"))
	require.Contains(t, v.get("licenses/"+l.ID).body, ">2/3</a>")

	request := licensefile.NewRequest(l.Key, "machine-3")
	text, err := request.Text()
	is.NoErr(err)
	file = s.verified(v.post(page, "lifetime", "30", "lifetime_unit", "d", "for", "request", "request", text+"\r\n"))
	is.Equal(file.Nonce, request.Nonce)
	is.Equal(file.FingerprintHash, licensefile.FingerprintHash(l.ID, "machine-3"))

	events, err := s.Service().Events(t.Context(), api.ListEventsParams{Types: []string{api.EventFileIssued}, Subject: l.ID})
	is.NoErr(err)
	is.Equal(len(events.Data), 3) // none for the file that was issued again
	require.HasPrefix(t, events.Data[0].Actor, "operator:")

	unlimited := s.license(api.CreateLicenseParams{Name: "Beacon", ProductID: "…"})
	require.Contains(t, v.get("licenses/"+unlimited.ID+"/file").body, "Any machine")
	a = v.post("licenses/"+unlimited.ID+"/file", "lifetime", "30d", "for", "none")
	is.Equal(s.verified(a).FingerprintHash, "")
	is.Equal(a.Header.Get("Content-Disposition"), `attachment; filename="2026-03-31.license"`)
}

// TestIssueOfficeFile answers the request of an office, and says what is wrong with others.
func TestIssueOfficeFile(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	v := s.admin()
	key := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	terms := api.Terms{MaxActivations: ptr[int64](4), Meters: map[string]api.Meter{"exports": {Limit: ptr[int64](10)}}}
	l := s.license(api.CreateLicenseParams{Name: "Atlas", ProductID: "atlas", Terms: terms})
	s.activate(l, "machine-1", "")
	long := terms
	long.Entitlements = map[string]any{}
	for i := range 12 {
		long.Entitlements[fmt.Sprint("entitlement ", i)] = strings.Repeat("x", 250)
	}
	large := s.license(api.CreateLicenseParams{Name: "Large", ProductID: "atlas", Terms: long})
	submit := func(l api.License, seats int64) reply {
		t.Helper()
		request, err := licensefile.SignOfficeRequest(licensefile.OfficeRequest{Seats: seats, KeyHash: licensefile.KeyHash(l.Key), Meters: map[string]int64{"exports": 9}}, key)
		is.NoErr(err)
		return v.post("licenses/"+l.ID+"/file", "lifetime", "90d", "for", "request", "request", request[:300]+"\r\n"+request[300:])
	}
	for _, c := range []struct {
		license api.License
		seats   int64
		status  int
		says    string
	}{
		{l, 4, 409, "The office needs 4 more seats, and fewer are free; the license has 4."},
		{l, 201, 422, "Asks for more than 200 seats"},
		{large, 1, 422, "The entitlements and meters of the license do not fit into the file of an office."},
	} {
		a := submit(c.license, c.seats)
		is.Equal(a.StatusCode, c.status)
		require.Contains(t, a.body, c.says)
	}
	is.Equal(submit(l, 3).StatusCode, http.StatusOK)
	a := submit(l, 3) // now it is an office, which reports usage
	is.Equal(a.StatusCode, http.StatusOK)
	lender, err := licensefile.NewLender(a.body, key)
	is.NoErr(err)
	is.Equal(lender.Claims.Office.Seats, int64(3))
	is.Equal(lender.Claims.Office.Meters, map[string]licensefile.Meter{"exports": {Limit: ptr[int64](10)}})
	is.Equal(lender.Claims.ExpiresAt, s.clock().Add(90*24*time.Hour))
	require.Contains(t, v.get("licenses/"+l.ID).body, ">4/4</a>", "Office, seat 3", "9 of 10")
}

func TestIssueLicenseFileErrors(t *testing.T) {
	s := newSite(t)
	v := s.admin()
	l := s.license(api.CreateLicenseParams{Name: "Atlas", Terms: api.Terms{MaxActivations: ptr[int64](1)}})
	seat := s.activate(l, "machine-1", "")
	entitlements := map[string]any{}
	for i := range 100 {
		entitlements[string(rune('一'+i))] = strings.Repeat("x", 255)
	}
	large := s.license(api.CreateLicenseParams{Name: "Large", Terms: api.Terms{Entitlements: entitlements}})
	suspended := s.license(api.CreateLicenseParams{Name: "Suspended"})
	_, err := s.Service().Suspend(t.Context(), api.ChangeStateParams{ID: suspended.ID})
	is.New(t).NoErr(err)
	foreign, err := licensefile.NewRequest(large.Key, "machine-2").Text()
	is.New(t).NoErr(err)
	for name, tt := range map[string]struct {
		license api.License
		form    []string
		field   string // the control that the error summary names; empty: none
		says    string
	}{
		"no lifetime":         {l, []string{"for", seat.ID}, "lifetime", "Enter a whole number"},
		"lifetime too long":   {l, []string{"lifetime", "11y", "for", seat.ID}, "lifetime", "at most 10 years"},
		"nothing selected":    {l, []string{"lifetime", "1d"}, "for-0", "Select one."},
		"unknown activation":  {l, []string{"lifetime", "1d", "for", "act_nowhere"}, "for-0", "Select one."},
		"unlimited only":      {l, []string{"lifetime", "1d", "for", "none"}, "for-0", "Select one."},
		"no fingerprint":      {l, []string{"lifetime", "1d", "for", "fingerprint"}, "fingerprint", "Enter a value"},
		"contradiction":       {l, []string{"lifetime", "1d", "for", seat.ID, "request", foreign}, "request", "Clear it"},
		"no seat":             {l, []string{"lifetime", "1d", "for", "fingerprint", "fingerprint", "machine-2"}, "", "seat"},
		"bad request text":    {l, []string{"lifetime", "1d", "for", "request", "request", foreign[1:]}, "request", "Must be the whole request text"},
		"another license key": {l, []string{"lifetime", "1d", "for", "request", "request", foreign}, "request", "another license key"},
		"too large":           {large, []string{"lifetime", "1d", "for", "none"}, "", "The entitlements of the license do not fit into a license file."},
		"suspended":           {suspended, []string{"lifetime", "1d", "for", "none"}, "", "suspended"},
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			a := v.post("licenses/"+tt.license.ID+"/file", tt.form...)
			want := http.StatusUnprocessableEntity
			if name == "no seat" || name == "suspended" { // the form is valid
				want = http.StatusConflict
			}
			is.Equal(a.StatusCode, want)
			summary, _, _ := strings.Cut(a.body[strings.Index(a.body, `role="alert"`):], "</div>")
			require.Contains(t, summary, tt.says)
			is.Equal(strings.Contains(summary, `href="#f-`+tt.field+`"`), tt.field != "")
		})
	}
	is := is.New(t)
	events, err := s.Service().Events(t.Context(), api.ListEventsParams{Types: []string{api.EventFileIssued}})
	is.NoErr(err)
	is.Equal(len(events.Data), 0)
}

// TestSupportIssuesFiles: an operator of support gets the files that the customer
// could get, and chooses neither a lifetime nor a fingerprint.
func TestSupportIssuesFiles(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	s.operator("sue@example.com", operator.RoleSupport)
	v := s.signedIn("sue@example.com")
	l := s.license(api.CreateLicenseParams{Name: "Atlas", Terms: api.Terms{MaxActivations: ptr[int64](2), OfflineSeconds: ptr[int64](3 * 24 * 3600)}})
	seat := s.activate(l, "machine-1", "Reception")
	require.Contains(t, v.get("licenses/"+l.ID).body, "Issue license file")
	page := "licenses/" + l.ID + "/file"
	form := v.get(page).body
	require.Contains(t, form, seat.ID, "The file expires on 4 Mar 2026, 12:00, like a file that the customer&#39;s program gets now.") // in 3 days
	require.NotContains(t, form, "Lifetime", "Another fingerprint")
	file := s.verified(v.post(page, "for", seat.ID, "lifetime", "9", "lifetime_unit", "y"))
	is.Equal(file.ActivationID, seat.ID)
	is.Equal(file.ExpiresAt, s.clock().Add(3*24*time.Hour))
	text, err := licensefile.NewRequest(l.Key, "machine-2").Text()
	is.NoErr(err)
	is.Equal(s.verified(v.post(page, "for", "request", "request", text)).FingerprintHash, licensefile.FingerprintHash(l.ID, "machine-2"))
	is.Equal(v.post(page, "for", "fingerprint", "fingerprint", "machine-3").StatusCode, http.StatusUnprocessableEntity)
}
