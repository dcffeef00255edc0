package dashboard_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth/operator"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

// activate creates an activation of a license.
func (s *site) activate(l api.License, fingerprint, name string) api.Activation {
	s.t.Helper()
	v, err := s.Service().Activate(s.t.Context(), api.ActivateKeyParams{Key: l.Key, Fingerprint: fingerprint, Name: name})
	is.New(s.t).NoErr(err)
	return *v.Activation
}

// TestDevicesOfLicense: the first page of a license has the five devices that were seen last,
// and support removes one with a click and a confirmation.
func TestDevicesOfLicense(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	l := s.license(api.CreateLicenseParams{Name: "Atlas"})
	page := "licenses/" + l.ID
	s.operator("sue@example.com", operator.RoleSupport)
	s.operator("vic@example.com", operator.RoleViewer)
	support, viewer := s.signedIn("sue@example.com"), s.signedIn("vic@example.com")
	require.Contains(t, support.get(page).body, "No program has activated this license yet.")
	var all []api.Activation
	for i := range 6 {
		all = append(all, s.activate(l, fmt.Sprint("machine-", i), fmt.Sprint("Ward PC 0", i)))
		s.advance(time.Minute)
	}
	body := support.get(page).body
	body = body[strings.Index(body, "devices-title"):]
	body = body[:strings.Index(body, "</section>")]
	require.NotContains(t, body, "Ward PC 00")
	require.Less(t, strings.Index(body, "Ward PC 05"), strings.Index(body, "Ward PC 01"))
	require.Contains(t, body, ">All 6</a>")
	require.NotContains(t, viewer.get(page).body, ">Remove<")
	is.Equal(support.post(page+"/activations/"+all[3].ID+"/release").StatusCode, http.StatusSeeOther)
	require.NotContains(t, support.get(page).body, all[3].ID)
}

func TestActivationsOfLicense(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	v := s.admin()
	l := s.license(api.CreateLicenseParams{Name: "Atlas", Terms: api.Terms{MaxActivations: ptr[int64](3), LeaseSeconds: ptr[int64](3600)}})
	page := "licenses/" + l.ID
	tab := page + "/activations"
	require.Contains(t, v.get(tab).body, "No active activations")
	require.Contains(t, v.get(page).body, ">0/3</a>")

	gone := s.activate(l, "old-machine", "")
	s.advance(2 * time.Hour)
	one := s.activate(l, "machine-1", "Reception")
	s.activate(l, "machine-2", "")
	require.Contains(t, v.get(page).body, ">2/3</a>")
	require.Contains(t, v.get(page).body, `<rect width="67" height="6"/>`, one.ID+`/release">Remove<span class="vh"> the device Reception</span></a>`)
	a := v.get(tab)
	require.Contains(t, a.body, "2 of 3 seats used.", "Reception", "machine-1", "machine-2")
	require.NotContains(t, a.body, "old-machine")
	is.Equal(strings.Count(a.body, "data-dialog href=\"../../licenses/"+l.ID+"/activations/act_"), 2) // only for active activations
	both := v.get(tab + "?ended=1")
	require.Contains(t, both.body, "lease ended", "old-machine")
	require.NotContains(t, both.body, gone.ID+"/release")

	ask := v.get(page + "/activations/" + one.ID + "/release")
	require.Contains(t, ask.body, "<p>Reception (machine-1)</p>")
	require.Contains(t, v.get(page).body, ">2/3</a>") // the confirmation page changes nothing
	is.Equal(v.get(page+"/activations/act_nowhere/release").StatusCode, http.StatusNotFound)
	is.Equal(v.post(page+"/activations/"+one.ID+"/release", "reason", "Reason\x01").StatusCode, http.StatusUnprocessableEntity)
	a = v.post(page+"/activations/"+one.ID+"/release", "reason", "Reception moved")
	is.Equal(a.StatusCode, http.StatusSeeOther)
	is.Equal(a.to(), "../../../../licenses/"+l.ID+"/activations")
	is.Equal(v.follow(a).notice(), "The device has been removed.")
	a = v.get(page)
	require.Contains(t, a.body, ">1/3</a>", "released", "Reception moved") // the history shows the reason
	is.Equal(v.post(page+"/activations/act_nowhere/release").StatusCode, http.StatusNotFound)

	live := v.get(tab)
	require.Contains(t, live.body, "machine-2")
	require.NotContains(t, live.body, "machine-1")
	both = v.get(tab + "?ended=1")
	require.Contains(t, both.body, "machine-2", "machine-1", "old-machine")
	is.Equal(v.get(tab+"?cursor=garbage").StatusCode, http.StatusBadRequest)
}

func TestActivationMetadata(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	v := s.admin()
	l := s.license(api.CreateLicenseParams{Name: "Atlas"})
	s.activate(l, "machine-1", "")
	tab := "licenses/" + l.ID + "/activations"
	require.NotContains(t, v.get(tab).body, "Metadata</th>")
	_, err := s.Service().Activate(t.Context(), api.ActivateKeyParams{Key: l.Key, Fingerprint: "machine-2", Metadata: map[string]string{"version": "1.2", "os": "<linux>"}})
	is.NoErr(err)
	require.Contains(t, v.get(tab).body, "Metadata</th>")
	require.Contains(t, v.get(tab).body, "os: &lt;linux&gt; · version: 1.2</td>")
}

func TestManyActivations(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	v := s.admin()
	l := s.license(api.CreateLicenseParams{Name: "Atlas"})
	for i := range 120 {
		s.activate(l, fmt.Sprintf("machine-%03d", i), "")
		s.advance(time.Second)
	}
	require.Contains(t, v.get("licenses/"+l.ID).body, ">120</a>", "no maximum")
	var seen []string
	page := "licenses/" + l.ID + "/activations"
	for query := ""; ; {
		a := v.get(page + query)
		seen = append(seen, regexp.MustCompile(`<code>machine-\d+`).FindAllString(a.body, -1)...)
		next := regexp.MustCompile(`rel="next" href="([^"]*)"`).FindStringSubmatch(a.body)
		if next == nil {
			break
		}
		query = next[1]
	}
	is.Equal(len(seen), 120)
	is.Equal(seen[len(seen)-1], "<code>machine-119")
}

// TestLicenseSaysWhy: one sentence says how long a license is valid, or why it is not, and
// Renew is the first button only where it is the answer.
func TestLicenseSaysWhy(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	in := func(days int) *time.Time { at := now.AddDate(0, 0, days); return &at }
	never := time.Date(9999, 12, 31, 23, 59, 59, 999e6, time.UTC)
	for name, tt := range map[string]struct {
		starts, expires *time.Time
		graceDays       int64
		suspend, renew  bool
		says, note      string
	}{
		"active":         {in(-25), in(75), 0, false, false, "Valid", "in 2 months"},
		"soon":           {nil, in(20), 0, false, true, "Valid", "in 20 days"},
		"with grace":     {nil, in(75), 10, false, false, "Valid", "in 2 months"},
		"scheduled":      {in(50), in(100), 0, false, false, "Not valid. The license starts on 20 Apr 2026, 12:00.", "in 3 months"},
		"expired":        {in(-100), in(-50), 0, false, true, "Not valid. The license expired on 10 Jan 2026, 12:00.", "50 days ago"},
		"in grace":       {in(-80), in(-10), 30, false, true, "Valid in its grace period, which ends in 20 days.", "10 days ago"},
		"suspended":      {nil, in(20), 0, true, false, "Not valid. The license is suspended. Reason: The invoice is open", "in 20 days"},
		"without expiry": {in(-1), nil, 0, false, false, "Valid", "No end"},
		"never":          {nil, &never, 0, false, false, "Valid", "in over 292 years"},
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			s := newSite(t)
			v := s.admin()
			l := s.license(api.CreateLicenseParams{Name: "Atlas", StartsAt: tt.starts, ExpiresAt: tt.expires, Terms: api.Terms{GraceSeconds: tt.graceDays * 86400}})
			if tt.suspend {
				_, err := s.Service().Suspend(t.Context(), api.ChangeStateParams{ID: l.ID, Reason: "The invoice is open"})
				is.NoErr(err)
			}
			a := v.get("licenses/" + l.ID)
			require.Contains(t, a.body, `<span class="label">`+tt.says+"</span>", tt.note+"</span>")
			is.Equal(a.says(`<a class="button primary" data-dialog href="../licenses/`+l.ID+`/renew">`), tt.renew)
			is.Equal(strings.Count(a.body, `<span class="pill `), 1) // the status, once
			require.NotContains(t, a.body, "<dt>Lease", "Immediately", ">Never<", ">None<")
		})
	}
}

func TestVerdict(t *testing.T) {
	s := newSite(t)
	v := s.admin()
	end := s.now.AddDate(0, 0, 10)
	l := s.license(api.CreateLicenseParams{Name: "Atlas", ProductID: "atlas", ExpiresAt: &end, Terms: api.Terms{GraceSeconds: 86400, MaxActivations: ptr[int64](1), Entitlements: map[string]any{"export": true}}})
	s.activate(l, "machine-1", "")
	for _, tt := range []struct {
		query  string
		status int
		says   []string
	}{
		{"", 200, []string{"<details><summary id=\"verdict-title\">"}},
		{"?at=2026-03-11T13:00", 200, []string{`<span class="pill ending">in grace</span>`, "12 Mar 2026", "<details open>"}},
		{"?at=2026-04-01", 200, []string{`<span class="pill revoked">expired</span>`, "The license expired on 11 Mar 2026, 12:00.", "No change is scheduled."}},
		{"?fingerprint=machine-1", 200, []string{`<span class="pill active">valid</span>`}},
		{"?fingerprint=machine-2&product=beacon&entitlement=import", 200, []string{
			`<span class="pill revoked">product mismatch</span>`, "not_activated", "activation_limit", "entitlement_missing", `value="machine-2"`,
		}},
		{"?at=tomorrow", 422, []string{`id="f-at-error">Enter a date`, `value="tomorrow"`}},
		{"?entitlement=%01", 422, []string{`id="f-entitlement-error">`}},
		{"?product=%01", 422, []string{`id="f-product-error">`}},
	} {
		t.Run(tt.query, func(t *testing.T) {
			is := is.New(t)
			a := v.get("licenses/" + l.ID + tt.query)
			is.Equal(a.StatusCode, tt.status)
			for _, text := range tt.says {
				require.Contains(t, a.body, text)
			}
		})
	}
	after, err := s.Service().Get(t.Context(), l.ID)
	is := is.New(t)
	is.NoErr(err)
	is.Equal(after, l) // a test validation changes nothing
}

func ptr[T any](v T) *T { return &v }

// TestReleaseOfAHeldSeat warns that the program may run offline, and forces the
// release.
func TestReleaseOfAHeldSeat(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	v := s.admin()
	l := s.license(api.CreateLicenseParams{Name: "Atlas", Terms: api.Terms{MaxActivations: ptr[int64](1)}})
	issue := func(fingerprint string) license.File {
		file, err := s.Service().IssueFile(t.Context(), api.IssueFileParams{LicenseID: l.ID, Fingerprint: fingerprint, Lifetime: api.Duration{Days: 14}})
		is.NoErr(err)
		return file
	}
	for i := range 3 {
		issue(fmt.Sprint("spent-", i))
		_, err := s.Service().Deactivate(t.Context(), api.DeactivateKeyParams{Key: l.Key, Fingerprint: fmt.Sprint("spent-", i)})
		is.NoErr(err)
	}
	file := issue("machine-1")
	path := "licenses/" + l.ID + "/activations/" + file.Activation.ID + "/release"
	require.Contains(t, v.get(path).body, "It may run offline from a license file until")
	is.Equal(v.post(path, "reason", "moved").StatusCode, http.StatusSeeOther)
	events, err := s.Service().Events(t.Context(), api.ListEventsParams{Types: []string{api.EventActivationReleased}, Subject: l.ID})
	is.NoErr(err)
	require.Contains(t, string(events.Data[3].Data), `"forced":true`)
}

// TestFilesOfALicense shows until when files may run, on the license and per
// activation, and voids them.
func TestFilesOfALicense(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	v := s.admin()
	l := s.license(api.CreateLicenseParams{Name: "Atlas", Terms: api.Terms{MaxActivations: ptr[int64](3)}})
	page := "licenses/" + l.ID
	tab := page + "/activations"
	require.NotContains(t, v.get(page).body, "License files may run")
	s.activate(l, "machine-1", "")
	require.NotContains(t, v.get(tab).body, "Offline until")

	file, err := s.Service().IssueFile(t.Context(), api.IssueFileParams{LicenseID: l.ID, Fingerprint: "machine-2", Lifetime: api.Duration{Days: 20}})
	is.NoErr(err)
	require.Contains(t, v.get(page).body, `<dt>License files may run until</dt><dd><time datetime="2026-03-2`) // the entry is up to a tenth longer
	until := regexp.MustCompile(`data-label="Offline until"><time[^>]*title="21 Mar 2026`)
	is.Equal(len(until.FindAllString(v.get(tab).body, -1)), 1)
	_, err = s.Service().ReleaseActivation(t.Context(), api.ReleaseActivationParams{LicenseID: l.ID, ActivationID: file.Activation.ID})
	is.NoErr(err)
	require.NotContains(t, v.get(tab).body, "Offline until")
	is.Equal(len(until.FindAllString(v.get(tab+"?ended=1").body, -1)), 1) // a spent seat

	require.Contains(t, v.get(page).body, page+"/void-files")
	require.Contains(t, v.get(page+"/void-files").body, "once they see the next revocation list")
	is.Equal(v.post(page+"/void-files", "reason", "Reason\x01").StatusCode, http.StatusUnprocessableEntity)
	a := v.follow(v.post(page+"/void-files", "reason", "Laptop stolen"))
	is.Equal(a.notice(), "The license files have been canceled.")
	require.Contains(t, a.body, "<strong>License file voided</strong>", "Laptop stolen")
	after, err := s.Service().Get(t.Context(), l.ID)
	is.NoErr(err)
	is.Equal(after.Generation, l.Generation+1)

	s.advance(30 * 24 * time.Hour)
	v = s.signedIn("ada@example.com")
	require.NotContains(t, v.get(page).body, "License files may run")
	require.NotContains(t, v.get(tab+"?ended=1").body, "Offline until")
}
