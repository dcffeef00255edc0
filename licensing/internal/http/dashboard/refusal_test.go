package dashboard_test

import (
	"html"
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

// TestNoRefusals: without a refusal, and so without a reason to choose, the page speaks of none.
func TestNoRefusals(t *testing.T) {
	v := newSite(t).admin()
	require.Contains(t, v.get("refusals").body, "<p>No license was refused in the last 7 days.</p>")
	require.Contains(t, v.get("refusals?open=1&days=30").body, "<p>No license has an unresolved refusal in the last 30 days.</p>")
}

func TestRefusalsOfLicense(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	v := s.admin()
	l := s.license(api.CreateLicenseParams{Name: "Atlas", Terms: api.Terms{MaxActivations: ptr(int64(1))}, ExpiresAt: ptr(s.now.AddDate(0, 1, 0))})
	page := func() reply { return v.get("licenses/" + l.ID) }
	require.Contains(t, page().body, "No request was refused in the last 90 days.")
	require.Contains(t, v.get("licenses/"+l.ID+"/refusals").body, "No refusals")
	activate := func(fingerprint string) {
		_, _ = s.Service().As(license.Caller{Address: "203.0.113.7"}).Activate(t.Context(), api.ActivateKeyParams{Key: l.Key, Fingerprint: fingerprint})
	}
	activate("pc-1")
	activate("pc-2")
	s.advance(time.Minute)
	activate("<pc-3>")
	a := page()
	is.Equal(a.StatusCode, http.StatusOK)
	require.Contains(t, a.body, `<h3 class="label">No seat free</h3><span class="pill revoked">applies now</span>`)
	require.Contains(t, a.body, "2 times, last", "<p>1 of 1 seat used.</p>")
	self := `href="../licenses/` + l.ID
	require.Contains(t, a.body, self+`/activations">Remove a device</a>`, self+`/edit#f-max_activations">Add a seat</a>`)
	require.Contains(t, a.body, "<code>activation_limit</code>")
	s.advance(24 * time.Hour)
	v = s.signedIn("ada@example.com")
	_, err := s.Service().Validate(t.Context(), api.ValidateKeyParams{Key: l.Key, ProductID: "other"})
	is.NoErr(err)
	a = page()
	tab := v.link(a, "All refusals")
	is.Equal(tab.Request.URL.Path, mount+"/dashboard/licenses/"+l.ID+"/refusals")
	require.Matches(t, tab.body, regexp.MustCompile(`aria-current="page">Refusals <span class="muted">3</span></a>`))
	require.Contains(t, tab.body, `applies now`, "Last 3 requests")
	var rows []string
	cellEnd, text := regexp.MustCompile(`</t[dh]>`), regexp.MustCompile(`(?s)<[^>]*>|\n`)
	for _, m := range regexp.MustCompile(`(?s)<tr role="row">(<th scope="row".*?)</tr>`).FindAllStringSubmatch(tab.body, -1) {
		rows = append(rows, html.UnescapeString(text.ReplaceAllString(cellEnd.ReplaceAllString(m[1], "|"), "")))
	}
	is.Equal(rows, []string{
		"Wrong productAsked for other, license is atlas |Validate|in a moment|–|–|Change the product|",
		"No seat free|Activate|1 day ago|<pc-3>|203.0.113.7|Remove a device|",
		"No seat free|Activate|1 day ago|pc-2|203.0.113.7|Remove a device|",
		"2 Mar 2026|1|Wrong product: 1|",
		"1 Mar 2026|2|No seat free: 2|",
	})
	is.Equal(strings.Count(tab.body, l.Key), 1) // in the header

	s.operator("vic@example.com", operator.RoleViewer)
	viewer := s.signedIn("vic@example.com").get("licenses/" + l.ID)
	require.Contains(t, viewer.body, "Remove a device")
	require.NotContains(t, viewer.body, "Add a seat")
	viewer = s.signedIn("vic@example.com").get("licenses/" + l.ID + "/refusals")
	require.NotContains(t, viewer.body, "Change the product", "Resolved")

	support := s.operator("sue@example.com", operator.RoleSupport)
	require.Contains(t, s.signedIn(support.Email).get("licenses/"+l.ID).body, "An admin can add a seat.", "An admin can change the product.")
	require.NotContains(t, viewer.body, "An admin can")
	suspended := s.license(api.CreateLicenseParams{Name: "Held"})
	_, err = s.Service().Suspend(t.Context(), api.ChangeStateParams{ID: suspended.ID})
	is.NoErr(err)
	_, err = s.Service().Validate(t.Context(), api.ValidateKeyParams{Key: suspended.Key})
	is.NoErr(err)
	reinstate := "/reinstate\">Reinstate</a></p>"
	require.Contains(t, s.signedIn(support.Email).get("licenses/"+suspended.ID).body, reinstate)
	require.NotContains(t, s.signedIn("vic@example.com").get("licenses/"+suspended.ID).body, reinstate)

	require.Less(t, strings.Index(a.body, `id="refusals"`), strings.Index(a.body, `id="devices-title"`)) // at the top
	_, err = s.Service().Deactivate(t.Context(), api.DeactivateKeyParams{Key: l.Key, Fingerprint: "pc-1"})
	is.NoErr(err)
	a = page()
	require.Contains(t, v.get("licenses/"+l.ID+"/refusals").body, `<span class="muted">Resolved</span>`)
	require.Contains(t, a.body, "Resolved: a seat is free now.")
	require.NotContains(t, a.body, "applies now", "Add a seat")
	require.Greater(t, strings.Index(a.body, `id="refusals"`), strings.Index(a.body, `id="devices-title"`))
}

// TestProgramThatAsksBeforeItActivates leaves nothing to resolve on a license whose
// seats are all in use: its program got one of them.
func TestProgramThatAsksBeforeItActivates(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	v := s.admin()
	l := s.license(api.CreateLicenseParams{Name: "Atlas", Terms: api.Terms{MaxActivations: new(int64(1)), LeaseSeconds: new(int64(60))}})
	ask := func() {
		_, err := s.Service().Validate(t.Context(), api.ValidateKeyParams{Key: l.Key, Fingerprint: "pc-1"})
		is.NoErr(err)
		_, err = s.Service().Activate(t.Context(), api.ActivateKeyParams{Key: l.Key, Fingerprint: "pc-1"})
		is.NoErr(err)
	}
	ask()
	s.advance(2 * time.Minute) // the lease ends
	ask()
	for _, page := range []string{"licenses/" + l.ID, "licenses/" + l.ID + "/refusals", "refusals?reason=not_activated", "refusals?reason=lease_ended"} {
		a := v.get(page)
		is.Equal(a.StatusCode, http.StatusOK)
		require.NotContains(t, a.body, "applies now", "Remove a device", "Add a seat")
	}
	require.Contains(t, v.get("licenses/"+l.ID).body, "Not activated", "Seat freed without contact", ">1/1</a>")
	require.Contains(t, v.get("refusals?reason=not_activated&open=1").body, "No license has an unresolved refusal for this reason in the last 7 days.")
}

// TestRefusalActions checks what resolves each reason, while it applies and
// afterwards.
func TestRefusalActions(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	v := s.admin()
	validate := func(l api.License, p api.ValidateKeyParams) {
		p.Key = l.Key
		_, err := s.Service().Validate(t.Context(), p)
		is.NoErr(err)
	}
	shows := func(l api.License, texts ...string) {
		t.Helper()
		a := v.get("licenses/" + l.ID)
		for _, text := range texts {
			if !a.says(text) {
				t.Errorf("the page does not contain %q", text)
			}
		}
	}
	// once checks that the page says the state of a license once, first.
	once := func(l api.License, state string) {
		t.Helper()
		page := v.get("licenses/" + l.ID).body
		is.Equal(strings.Count(page, "The license "), 1)
		is.True(strings.Index(page, state) < strings.Index(page, "applies now"))
		require.Contains(t, page, state)
		require.Contains(t, v.get("licenses/"+l.ID+"/refusals").body, "<p>The license ") // where nothing else says it
	}
	ctx := t.Context()

	l := s.license(api.CreateLicenseParams{Name: "Atlas", ExpiresAt: ptr(s.now.Add(time.Hour))})
	s.advance(2 * time.Hour)
	validate(l, api.ValidateKeyParams{})
	shows(l, ">Expired</h3>", "applies now", "/renew\">Renew</a>")
	once(l, "The license expired on 1 Mar 2026, 13:00.")
	_, err := s.Service().Renew(ctx, api.RenewLicenseParams{ID: l.ID, Duration: api.Duration{Years: 1}})
	is.NoErr(err)
	shows(l, "Resolved: the license has been renewed.")

	_, err = s.Service().Suspend(ctx, api.ChangeStateParams{ID: l.ID})
	is.NoErr(err)
	validate(l, api.ValidateKeyParams{})
	shows(l, ">Suspended</h3>", "<a class=\"button slim\" data-dialog href=\"../licenses/"+l.ID+"/reinstate\">Reinstate</a>")
	once(l, "The license is suspended.")
	_, err = s.Service().Reinstate(ctx, api.ChangeStateParams{ID: l.ID})
	is.NoErr(err)
	shows(l, "Resolved: the license is no longer suspended.")

	validate(l, api.ValidateKeyParams{ProductID: "other"})
	validate(l, api.ValidateKeyParams{CustomerID: "other"})
	validate(l, api.ValidateKeyParams{Fingerprint: "pc"})
	validate(l, api.ValidateKeyParams{Entitlements: []string{"export"}})
	shows(l, "Change the product", "Change the customer", "has to activate before", "/edit#f-entitlements\">Change the entitlements")

	_, err = s.Service().Revoke(ctx, api.ChangeStateParams{ID: l.ID})
	is.NoErr(err)
	validate(l, api.ValidateKeyParams{})
	shows(l, "<p>This is final. Issue a new license")
	once(l, "The license was revoked.")

	l = s.license(api.CreateLicenseParams{Name: "Later", StartsAt: ptr(s.clock().AddDate(0, 1, 0))})
	validate(l, api.ValidateKeyParams{})
	shows(l, ">Not started</h3>", "Change the start")

	l = s.license(api.CreateLicenseParams{Name: "Floating", Terms: api.Terms{LeaseSeconds: ptr(int64(60)), MaxActivations: ptr(int64(1))}})
	_, err = s.Service().Activate(ctx, api.ActivateKeyParams{Key: l.Key, Fingerprint: "pc-1"})
	is.NoErr(err)
	s.advance(2 * time.Minute)
	validate(l, api.ValidateKeyParams{Fingerprint: "pc-1"})
	shows(l, ">Seat freed without contact</h3>", "/edit#f-lease_seconds\">Change when a seat is freed")
	for _, fingerprint := range []string{"pc-1", "pc-2"} {
		_, err = s.Service().Activate(ctx, api.ActivateKeyParams{Key: l.Key, Fingerprint: fingerprint, TakeOver: api.TakeOverOldest})
		is.NoErr(err)
	}
	validate(l, api.ValidateKeyParams{Fingerprint: "pc-1"})
	shows(l, ">Seat taken over</h3>", "Add a seat", ">1/1</a>")
}
