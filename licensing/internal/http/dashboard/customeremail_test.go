package dashboard_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth/operator"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// TestChangeEmail: support changes the address of all licenses of a customer to an own one, and
// gets no key from any action of the dashboard. The former address gets a mail, the event names
// the operator, no operator can mail a link for 24 hours, and the customer's own request works
// immediately.
func TestChangeEmail(t *testing.T) {
	is := is.New(t)
	m := newMailing(t)
	admin := m.admin()
	var all []api.License
	for range 3 {
		all = append(all, m.license(api.CreateLicenseParams{Name: "Ada", CustomerID: "a & b", Metadata: map[string]string{"email": "Ada <Ada@customer.example>"}}))
	}
	sue := m.operator("sue@example.com", operator.RoleSupport)
	m.operator("vic@example.com", operator.RoleViewer)
	support, viewer := m.signedIn(sue.Email), m.signedIn("vic@example.com")
	const page, form = "customer?id=a+%26+b", "customer/email?id=a+%26+b"
	require.Contains(t, support.get(page).body, "customer/email?id=a%20%26%20b\">Change email</a>")
	require.NotContains(t, viewer.get(page).body, "Change email")
	is.Equal(viewer.post(form).StatusCode, http.StatusForbidden)
	require.Contains(t, support.get(form).body, `<option value="ada@customer.example" selected>`, "The former address gets a mail that names the new one.", "For 24 hours, no operator")
	done := support.post(form, "from", "ada@customer.example", "email", "sue@example.com", "reason", "asked on the phone")
	is.Equal(support.follow(done).notice(), "The email address of 3 licenses has been changed.")
	is.Equal(len(m.sent), 1)
	is.Equal([]string{m.sent[0].To, m.sent[0].Subject}, []string{"ada@customer.example", "Your email address was changed"})
	require.Contains(t, m.sent[0].Text, "from ada@customer.example to sue@example.com")
	events, err := m.Service().Events(t.Context(), api.ListEventsParams{Types: []string{api.EventLicenseUpdated}})
	is.NoErr(err)
	is.Equal(len(events.Data), 3)
	is.Equal(events.Data[0].Actor, "operator:"+sue.ID)
	require.Contains(t, string(events.Data[0].Data), `"reason":"asked on the phone"`)

	l := all[0]
	for _, path := range []string{
		"customer/mail-link?id=a+%26+b", "licenses/" + l.ID + "/mail-link", "licenses/" + l.ID + "/file", "licenses/" + l.ID + "/renew",
		"licenses/" + l.ID + "/rekey", "licenses/" + l.ID + "/transfer", "licenses/" + l.ID + "/edit", "licenses/selected/renew?id=" + l.ID, "licenses/selected/suspend?id=" + l.ID,
		"licenses/" + l.ID + "/suspend", "licenses/" + l.ID + "/reinstate",
	} {
		for _, a := range []reply{support.get(path), support.post(path, "address", "sue@example.com", "version", support.get(path).hidden("version"), "expires_at", "2030-01-01")} {
			require.NotContains(t, a.body, l.Key)
		}
	}
	for _, path := range []string{page, "customer.json?id=a+%26+b", "licenses/" + l.ID, "licenses.csv", "licenses?q=sue@example.com", "search?q=" + l.Key, "search?q=sue@example.com", "audit.csv"} {
		require.NotContains(t, support.get(path).body, l.Key)
	}
	is.Equal(len(m.sent), 1) // no link and no key
	for _, v := range []*visitor{support, admin} {
		refused := v.post("licenses/"+all[1].ID+"/mail-link", "address", "sue@example.com")
		is.Equal(refused.StatusCode, http.StatusUnprocessableEntity)
		require.Contains(t, refused.body, "was changed by support, so no operator can mail a link to it until 2 March 2026 at 12:00 UTC", "ask an admin")
	}
	ask := httptest.NewRequestWithContext(t.Context(), "POST", "/sign-in", strings.NewReader(url.Values{"email": {"sue@example.com"}}.Encode()))
	ask.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	m.pages.ServeHTTP(httptest.NewRecorder(), ask)
	<-m.arrived
	<-m.arrived
	require.Contains(t, m.sent[1].Text, "https://shop.example/account/link#")

	m.advance(24 * time.Hour)
	support = m.signedIn(sue.Email)
	is.Equal(support.post("licenses/"+all[1].ID+"/mail-link", "address", "sue@example.com").StatusCode, http.StatusSeeOther)
	is.Equal(len(m.sent), 3)
}

// TestChangeEmailOf: a form asks which address to replace. Where there was none, or
// without a Mailer, only admins can change it, without a mail, and links can be mailed
// immediately.
func TestChangeEmailOf(t *testing.T) {
	is := is.New(t)
	m := newMailing(t)
	admin := m.admin()
	m.operator("sue@example.com", operator.RoleSupport)
	support := m.signedIn("sue@example.com")
	one := m.license(api.CreateLicenseParams{Name: "One", CustomerID: "acme", Metadata: map[string]string{"email": "one@customer.example"}})
	m.advance(time.Second) // the newest license is the first
	m.license(api.CreateLicenseParams{Name: "Two", CustomerID: "acme", Metadata: map[string]string{"email": "two@customer.example"}})
	m.advance(time.Second)
	bare := m.license(api.CreateLicenseParams{Name: "Bare", CustomerID: "acme"})
	const form = "customer/email?id=acme"
	require.Contains(t, support.get(form).body, `<option value="two@customer.example" selected>`, `<option value="one@customer.example">`)
	require.NotContains(t, support.get(form).body, "Licenses without an address")
	require.Contains(t, admin.get(form).body, `<option value="" selected>Licenses without an address`)
	is.Equal(support.post(form, "from", "", "email", "sue@example.com").StatusCode, http.StatusForbidden)
	require.Contains(t, support.post(form, "from", "gone@customer.example", "email", "sue@example.com").body, "was changed while the form was open")
	is.Equal(support.post(form, "from", "one@customer.example", "email", "new@customer.example").StatusCode, http.StatusSeeOther)
	m.fails = http.ErrServerClosed
	require.Contains(t, support.post(form, "from", "two@customer.example", "email", "sue@example.com").body, "The former address got no mail, so nothing was changed. Ask an admin.")
	m.fails = nil
	is.Equal(admin.follow(admin.post(form, "from", "", "email", "bare@customer.example")).notice(), "The email address of 1 license has been changed.")
	is.Equal(admin.post("licenses/"+bare.ID+"/mail-link", "address", "bare@customer.example").StatusCode, http.StatusSeeOther)
	l, err := m.Service().Get(t.Context(), one.ID)
	is.NoErr(err)
	is.Equal(l.Metadata["email"], "new@customer.example")
	is.Equal(len(m.sent), 2)

	m.license(api.CreateLicenseParams{Name: "None", CustomerID: "none"})
	is.Equal(support.get("customer/email?id=none").StatusCode, http.StatusNotFound)
	require.Contains(t, admin.get("customer?id=none").body, "Add email")
	is.Equal(admin.post("customer/email?id=none", "from", "", "email", "none@customer.example").StatusCode, http.StatusSeeOther)

	s := newSiteOn(t, memory.New(), licensing.Options{})
	admin = s.admin()
	s.operator("sue@example.com", operator.RoleSupport)
	s.license(api.CreateLicenseParams{Name: "One", CustomerID: "acme", Metadata: map[string]string{"email": "one@customer.example"}})
	require.NotContains(t, s.signedIn("sue@example.com").get("customer?id=acme").body, "Change email")
	is.Equal(s.signedIn("sue@example.com").post(form, "from", "one@customer.example", "email", "sue@example.com").StatusCode, http.StatusNotFound)
	is.Equal(admin.post(form, "from", "one@customer.example", "email", "new@customer.example").StatusCode, http.StatusSeeOther)
}
