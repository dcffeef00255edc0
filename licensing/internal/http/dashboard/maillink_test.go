package dashboard_test

import (
	"context"
	"errors"
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
	"github.com/seed-d8a106b4/licensekit/licensing/mail"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// A mailing is a site whose operators mail links.
type mailing struct {
	*site
	pages http.Handler // of customers
	sent  []mail.Message

	arrived chan struct{} // has an element for each of sent
	fails   error         // what Send returns
}

func newMailing(t *testing.T) *mailing {
	m := &mailing{arrived: make(chan struct{}, 99)}
	signIn := &mail.SignIn{URL: "https://shop.example/account", Send: func(_ context.Context, message mail.Message) error {
		if m.fails == nil {
			m.sent = append(m.sent, message)
			m.arrived <- struct{}{}
		}
		return m.fails
	}}
	m.site = newSiteOn(t, memory.New(), licensing.Options{Dashboard: licensing.DashboardOptions{Mailer: signIn, MailsKeys: true}})
	m.pages = signIn.Handler(m.Handler, licensing.Portal{})
	return m
}

// TestMailALink: support mails a link to the address of a license, from its page or that of
// its customer. It opens the license, and neither the operator nor the event gets more than
// that it was mailed. A viewer has no such action.
func TestMailALink(t *testing.T) {
	is := is.New(t)
	m := newMailing(t)
	l := m.license(api.CreateLicenseParams{Name: "Ada", CustomerID: "a & b", Metadata: map[string]string{"email": "Ada <Ada@customer.example>"}})
	sue := m.operator("sue@example.com", operator.RoleSupport)
	m.operator("vic@example.com", operator.RoleViewer)
	support, viewer := m.signedIn(sue.Email), m.signedIn("vic@example.com")
	for page, form := range map[string]string{"licenses/" + l.ID: "licenses/" + l.ID + "/mail-link", "customer?id=a+%26+b": "customer/mail-link?id=a+%26+b"} {
		require.Contains(t, support.get(page).body, strings.ReplaceAll(form, "+%26+", "%20%26%20")+`">Mail a link</a>`)
		require.NotContains(t, viewer.get(page).body, "Mail a link")
		is.Equal(viewer.post(form).StatusCode, http.StatusForbidden)
		seen := support.get(form)
		require.Contains(t, seen.body, "to Ada &lt;Ada@customer.example&gt;.", "and their keys")
		done := support.post(form, "address", "Ada <Ada@customer.example>")
		is.True(strings.HasSuffix(done.to(), "../"+page))
		is.Equal(support.follow(done).notice(), "A link was mailed to Ada &lt;Ada@customer.example&gt;.")
		require.NotContains(t, support.get(page).body, "link#")
	}
	is.Equal(len(m.sent), 2)
	is.Equal(m.sent[1].To, "ada@customer.example")
	_, token, _ := strings.Cut(m.sent[1].Text, "#")
	r := httptest.NewRequestWithContext(t.Context(), "POST", "/link", strings.NewReader(url.Values{"token": strings.Fields(token)[:1]}.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	w := httptest.NewRecorder()
	m.pages.ServeHTTP(w, r)
	r = httptest.NewRequestWithContext(t.Context(), "GET", "/licenses/", nil)
	r.AddCookie(w.Result().Cookies()[0])
	w = httptest.NewRecorder()
	m.pages.ServeHTTP(w, r)
	require.Contains(t, w.Body.String(), l.Key)

	page, err := m.Service().Events(t.Context(), api.ListEventsParams{Types: []string{api.EventCustomerLinkMailed}})
	is.NoErr(err)
	is.Equal(len(page.Data), 2)
	e := page.Data[0]
	is.Equal([]string{e.Actor, e.CustomerID, e.Subject, string(e.Data)}, []string{"operator:" + sue.ID, "a & b", "", "{}"})
	require.Contains(t, support.get("customer?id=a+%26+b").body, "Customer got a link by mail")
}

// TestMailNoLink: nothing is mailed if the address has changed since the form was opened, if
// there is none, after 20 mails in a minute, and without a Mailer. A mail that fails has no event.
func TestMailNoLink(t *testing.T) {
	is := is.New(t)
	m := newMailing(t)
	v := m.admin()
	l := m.license(api.CreateLicenseParams{Name: "Ada", Metadata: map[string]string{"email": "ada@customer.example"}})
	form := "licenses/" + l.ID + "/mail-link"
	changed := v.post(form, "address", "former@customer.example")
	is.Equal(changed.StatusCode, http.StatusConflict)
	require.Contains(t, changed.body, "was changed while the form was open")
	is.Equal(changed.hidden("address"), "ada@customer.example")

	m.fails = errors.New("550 no such mailbox")
	failed := v.post(form, "address", "ada@customer.example")
	is.Equal(failed.StatusCode, http.StatusConflict)
	require.Contains(t, failed.body, "The link was not mailed. The log of the service says why.")
	require.Contains(t, m.log.String(), "licensing: no mail sent", "550 no such mailbox")
	m.fails = nil
	page, err := m.Service().Events(t.Context(), api.ListEventsParams{Types: []string{api.EventCustomerLinkMailed}})
	is.NoErr(err)
	is.Equal(len(page.Data), 0)

	for range 19 {
		is.Equal(v.post(form, "address", "ada@customer.example").StatusCode, http.StatusSeeOther)
	}
	require.Contains(t, v.post(form, "address", "ada@customer.example").body, "You have sent 20 mails in a minute.")
	is.Equal(len(m.sent), 19)
	m.operator("sue@example.com", operator.RoleSupport)
	is.Equal(m.signedIn("sue@example.com").post(form, "address", "ada@customer.example").StatusCode, http.StatusSeeOther)
	m.advance(time.Minute)
	is.Equal(v.post(form, "address", "ada@customer.example").StatusCode, http.StatusSeeOther)
	is.Equal(len(m.sent), 21)

	odd := m.license(api.CreateLicenseParams{Name: "Odd", CustomerID: "odd", Metadata: map[string]string{"email": "not an address"}})
	refused := v.post("licenses/"+odd.ID+"/mail-link", "address", "not an address")
	is.Equal(refused.StatusCode, http.StatusUnprocessableEntity)
	require.Contains(t, refused.body, "must be one email address")
	none := m.license(api.CreateLicenseParams{Name: "None", CustomerID: "none"})
	require.NotContains(t, v.get("licenses/"+none.ID).body, "Mail a link")
	is.Equal(v.get("customer/mail-link?id=none").StatusCode, http.StatusNotFound)
	is.Equal(v.post("licenses/"+none.ID+"/mail-link", "address", "").StatusCode, http.StatusUnprocessableEntity)
	is.Equal(len(m.sent), 21)

	s := newSite(t)
	without := s.admin()
	l = s.license(api.CreateLicenseParams{Name: "Ada", Metadata: map[string]string{"email": "ada@customer.example"}})
	require.NotContains(t, without.get("licenses/"+l.ID).body, "Mail a link")
	is.Equal(without.post("licenses/"+l.ID+"/mail-link", "address", "ada@customer.example").StatusCode, http.StatusNotFound)
}

// TestMailsKeys: after Replace key and Transfer, the page says where the key is mailed to, if
// keys are mailed.
func TestMailsKeys(t *testing.T) {
	is := is.New(t)
	m := newMailing(t)
	v := m.admin()
	page := "licenses/" + m.license(api.CreateLicenseParams{Name: "Ada", Metadata: map[string]string{"email": "ada@customer.example"}}).ID
	require.Contains(t, v.get(page+"/rekey").body, "<p>The key is mailed to ada@customer.example.</p>")
	is.Equal(v.follow(v.post(page+"/rekey")).notice(), "The license key has been replaced. The old key no longer works. The key is mailed to ada@customer.example.")
	is.Equal(v.follow(v.change(page+"/transfer", "customer_id", "grace", "email", "grace@customer.example")).notice(),
		"The license has been transferred to the customer. The key is mailed to grace@customer.example.")
	require.Contains(t, v.get(page).body, `href="mailto:grace@customer.example"`)
	is.Equal(v.follow(v.change(page+"/transfer", "customer_id", "bob")).notice(),
		"The license has been transferred to the customer. The license has no valid email address, so the key is not mailed.")

	s := newSite(t)
	v = s.admin()
	page = "licenses/" + s.license(api.CreateLicenseParams{Name: "Ada", Metadata: map[string]string{"email": "ada@customer.example"}}).ID
	require.NotContains(t, v.get(page+"/rekey").body, "mailed")
	is.Equal(v.follow(v.post(page+"/rekey")).notice(), "The license key has been replaced. The old key no longer works.")
}
