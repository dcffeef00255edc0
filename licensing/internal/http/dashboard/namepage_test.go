package dashboard_test

import (
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth/operator"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

func TestCustomerPage(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	v := s.admin()
	const id = "a/b & c?"
	page := "customer?" + url.Values{"id": {id}}.Encode()
	one := s.license(api.CreateLicenseParams{Name: "One", CustomerID: id, ProductID: "compass"})
	held := s.license(api.CreateLicenseParams{Name: "Two", CustomerID: id})
	s.license(api.CreateLicenseParams{Name: "Of another customer"})
	_, err := s.Service().Suspend(t.Context(), api.ChangeStateParams{ID: held.ID, Reason: "The invoice is open"})
	is.NoErr(err)

	a := v.link(v.get("customers"), "(?:One|Two)")
	is.Equal(a.Request.URL.Path+"?"+a.Request.URL.Query().Encode(), mount+"/dashboard/"+page)
	require.Contains(t, a.body, "View all licenses (2)", `Valid until</span> <span class="text">no end`, "<h1>a/b &amp; c?</h1>")
	require.Contains(t, a.body, "One", "Two", "The invoice is open")
	require.NotContains(t, a.body, "Of another customer")
	is.Equal(names(v.link(a, `View all licenses \(2\)`)), names(v.get("licenses?"+url.Values{"customer": {id}}.Encode())))
	form := fields(v.link(a, "New license"))
	is.Equal(form.Get("customer_id"), id)
	licensePage := v.link(a, "One")
	is.Equal(v.link(licensePage, "a/b &amp; c\\?").Request.URL.Query().Get("id"), id)
	is.Equal(names(v.link(licensePage, "compass")), "One")
	require.Contains(t, licensePage.Request.URL.Path, one.ID)

	is.Equal(v.get("customer").StatusCode, http.StatusNotFound)
	is.Equal(v.get("customer?id=lic_x").StatusCode, http.StatusNotFound)
}

// TestCustomerPageHead: until when a customer has a license is the last end of those that
// are active, and the page lists the purchases.
func TestCustomerPageHead(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	v := s.admin()
	head := func() string {
		a := v.get("customer?id=ines").body
		name, strip := a[strings.Index(a, "<h1>"):], a[strings.Index(a, `<ul class="strip">`):]
		text := name[:strings.Index(name, "</div>")] + strip[:strings.Index(strip, "</ul>")]
		return strings.Join(strings.Fields(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(text, " ")), " ")
	}
	in := func(days int) *time.Time { return ptr(s.clock().AddDate(0, 0, days)) }
	l := s.license(api.CreateLicenseParams{Name: "Ines", CustomerID: "ines", ExpiresAt: in(1), Metadata: map[string]string{"email": "ines@example.com"}})
	require.HasPrefix(t, head(), "Ines ines@example.com · Change email · ines Licenses 1 Valid until 2 Mar 2026 ")
	s.license(api.CreateLicenseParams{Name: "Ines", CustomerID: "ines", ExpiresAt: in(40)})
	s.license(api.CreateLicenseParams{Name: "Ines", CustomerID: "ines", ExpiresAt: in(30)})
	require.Contains(t, head(), "Valid until 10 Apr 2026")
	s.license(api.CreateLicenseParams{Name: "Ines, boats", CustomerID: "ines", ExpiresAt: in(2)})
	require.HasPrefix(t, head(), "Ines ines@example.com · Change email · ines Licenses 4 ") // most licenses have this name
	s.advance(50 * 24 * time.Hour)
	v = s.signedIn("ada@example.com")
	require.Contains(t, head(), "Ended 10 Apr 2026")
	_, err := s.Selling().PutPlan(t.Context(), api.PutPlanParams{ID: "pro", ProductID: "atlas", Duration: api.Duration{Years: 1}})
	is.NoErr(err)
	for i := range 11 {
		_, err := s.Selling().RecordPurchase(t.Context(), api.RecordPurchaseParams{Reference: fmt.Sprint("sub_", i), At: s.clock(), CustomerID: "ines", PlanID: "pro", State: api.PurchaseActive, Name: "Ines"})
		is.NoErr(err)
		s.advance(time.Second)
	}
	require.Contains(t, head(), "Paid until 20 Apr 2027")
	endless := s.license(api.CreateLicenseParams{Name: "Ines", CustomerID: "ines"})
	require.Contains(t, head(), "11 of 12 valid licenses end, the first on 20 Apr 2027") // the other was created by hand
	is.NoErr(s.Service().Delete(t.Context(), api.DeleteLicenseParams{ID: endless.ID}))
	a := v.get("customer?id=ines")
	require.Contains(t, a.body, "Newest purchases", ">sub_10</a>", ">sub_1</a>")
	require.NotContains(t, a.body, ">sub_0</a>")
	require.Contains(t, v.link(a, "sub_10").body, "pro")
	_, err = s.Service().Revoke(t.Context(), api.ChangeStateParams{ID: l.ID})
	is.NoErr(err)
	only := s.license(api.CreateLicenseParams{Name: "Only", CustomerID: "otto"})
	_, err = s.Service().Revoke(t.Context(), api.ChangeStateParams{ID: only.ID})
	is.NoErr(err)
	require.Contains(t, v.get("customer?id=otto").body, "no valid license")
}

// TestChangeCustomerID: the form says that it merges two customers before it does, but not
// if it was interrupted.
func TestChangeCustomerID(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	v := s.admin()
	l := s.license(api.CreateLicenseParams{Name: "Atlas", CustomerID: "ines"})
	key := l.Key
	ask := v.link(v.get("customer?id=ines"), "Change customer ID")
	require.Contains(t, v.link(ask, "Cancel").body, "<code>ines</code>")
	for _, to := range []string{"", "ines", "lic_1", " x"} {
		is.Equal(v.post("customer/id?id=ines", "to", to).StatusCode, http.StatusUnprocessableEntity) // to
	}
	done := v.follow(v.post("customer/id?id=ines", "to", "a/b & c?", "reason", "It was bought"))
	is.Equal(done.notice(), "The customer has the new ID.")
	is.Equal(done.Request.URL.Query().Get("id"), "a/b & c?")
	require.Contains(t, done.body, "“It was bought”", "Customer: ines → a/b &amp; c?")
	l, err := s.Service().Get(t.Context(), l.ID)
	is.NoErr(err)
	is.Equal([]string{l.CustomerID, l.Key}, []string{"a/b & c?", key})

	s.license(api.CreateLicenseParams{Name: "Compass", CustomerID: "buyer"})
	page := "customer/id?" + url.Values{"id": {"a/b & c?"}}.Encode()
	asked := v.post(page, "to", "buyer")
	is.Equal(asked.StatusCode, http.StatusConflict)
	require.Contains(t, asked.body, "There is a customer buyer with 1 license. This merges the two customers", ">Merge customers</button>")
	is.Equal(fields(asked).Get("merge"), "buyer")
	other := v.post(page, "to", "former", "merge", "buyer") // another ID than the operator was asked about
	is.Equal(v.follow(other).notice(), "The customer has the new ID.")
	v.post("customer/id?id=former", "to", "buyer", "merge", "buyer")
	is.Equal(len(strings.Split(names(v.get("licenses?customer=buyer")), " ")), 2)

	// A license is left under the ID before: the change was interrupted.
	s.license(api.CreateLicenseParams{Name: "Left", CustomerID: "former"})
	is.Equal(v.post("customer/id?id=former", "to", "buyer").StatusCode, http.StatusSeeOther)
	is.Equal(v.get("customer/id").StatusCode, http.StatusNotFound)
}

// TestCustomerDevices: support releases devices of several licenses together.
func TestCustomerDevices(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	s.operator("sue@example.com", operator.RoleSupport)
	other := s.activate(s.license(api.CreateLicenseParams{Name: "Other", CustomerID: "other"}), "pc-other", "")
	var two []api.License
	for i := range 2 {
		two = append(two, s.license(api.CreateLicenseParams{Name: fmt.Sprint("License ", i), CustomerID: "ines", Terms: api.Terms{MaxActivations: ptr[int64](100)}}))
		s.advance(time.Second)
		for j := range 45 {
			s.activate(two[i], fmt.Sprintf("pc-%d-%d", i, j), "")
		}
	}
	s.advance(48 * time.Hour)
	v := s.signedIn("sue@example.com")
	s.activate(two[1], "pc-1-7", "") // seen again
	a := v.get("customer?id=ines")
	is.Equal(strings.Fields(activationsShown(a))[0], "pc-1-7")
	a = v.link(a, "View all devices")
	first := strings.Fields(activationsShown(a))
	is.Equal(len(first), 90) // whole licenses
	a = v.get("customer/devices?id=ines&unseen=2026-03-02")
	is.Equal(len(strings.Fields(activationsShown(a))), 89)
	require.NotContains(t, a.body, `"pc-1-7"`)
	is.Equal(v.get("customer/devices?id=ines&unseen=x").StatusCode, http.StatusBadRequest)
	is.Equal(v.get("customer/devices").StatusCode, http.StatusNotFound)

	q := url.Values{"customer": {"ines"}}
	for _, m := range regexp.MustCompile(`name="id" value="([^"]*)"`).FindAllStringSubmatch(a.body, -1)[43:46] {
		q.Add("id", html.UnescapeString(m[1]))
	}
	page := "customer/release?" + q.Encode()
	ask := v.get(page)
	require.Contains(t, ask.body, "Remove 3 devices", "pc-1-", "pc-0-")
	is.Equal(v.follow(v.post(page, "ids", fields(ask).Get("ids"))).notice(), "The devices have been removed.")
	left := strings.Fields(activationsShown(v.get("customer/devices?id=ines")))
	is.Equal(len(left), 87)
	is.Equal(v.follow(v.post(page, "ids", fields(ask).Get("ids"))).notice(), "The devices have been removed.") // again, as after an interruption
	is.Equal(v.get("customer/release?customer=ines").StatusCode, http.StatusUnprocessableEntity)
	is.Equal(v.get("customer/release?id="+other.ID).StatusCode, http.StatusNotFound)

	for i := range 110 { // a page reads 100 licenses
		s.license(api.CreateLicenseParams{Name: fmt.Sprint("Empty ", i), CustomerID: "ines"})
		s.advance(time.Millisecond)
	}
	a = v.get("customer/devices?id=ines")
	require.Contains(t, a.body, "None found yet")
	is.Equal(len(strings.Fields(activationsShown(v.link(a, "Next page")))), 87)
}

// TestExportCustomer: an admin downloads what is stored about a customer.
func TestExportCustomer(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	v := s.admin()
	l := s.license(api.CreateLicenseParams{Name: "Atlas", CustomerID: "ines"})
	s.activate(l, "pc-1", "Front desk")
	a := v.link(v.get("customer?id=ines"), "Download stored data")
	is.Equal(a.Header.Get("Content-Type"), "application/json")
	is.Equal(a.Header.Get("Content-Disposition"), `attachment; filename="customer-2026-03-01.json"`)
	require.Contains(t, a.body, l.Key, "Front desk", `"customer_id":"ines"`)
	is.True(json.Valid([]byte(a.body)))
	require.Contains(t, v.get("audit").body, "1 license with keys, as JSON")
	is.Equal(v.get("customer.json").StatusCode, http.StatusNotFound)

	s.operator("sue@example.com", operator.RoleSupport)
	support := s.signedIn("sue@example.com")
	require.NotContains(t, support.get("customer?id=ines").body, " download>") // a link to ask an admin
	is.Equal(support.get("customer.json?id=ines").StatusCode, http.StatusForbidden)
}

// TestCustomerPageOfNothing: an ID that nothing has is not a customer without licenses.
func TestCustomerPageOfNothing(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	v := s.admin()
	for _, page := range []string{"customer?id=typo"} {
		a := v.get(page)
		is.Equal(a.StatusCode, http.StatusNotFound)
		require.Contains(t, a.body, "no license, purchase or recorded event has it")
	}
	former := s.license(api.CreateLicenseParams{Name: "Atlas", CustomerID: "former", ProductID: "sold out"})
	is.NoErr(s.Service().Delete(t.Context(), api.DeleteLicenseParams{ID: former.ID}))
	_, err := s.Selling().RecordPurchase(t.Context(), api.RecordPurchaseParams{Reference: "sub_1", At: s.clock(), CustomerID: "paid", PlanID: "price_2", State: api.PurchaseActive})
	is.NoErr(err)
	for _, page := range []string{"customer?id=former", "customer?id=paid"} {
		a := v.get(page)
		is.Equal(a.StatusCode, http.StatusOK)
		require.Contains(t, a.body, "No licenses.")
		require.NotContains(t, a.body, "No events are kept")
	}
}

// TestProductsLeadToTheirLicenses: a product is its licenses.
func TestProductsLeadToTheirLicenses(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	v := s.admin()
	const id = "a/b & c?"
	s.license(api.CreateLicenseParams{Name: "One", ProductID: id})
	s.license(api.CreateLicenseParams{Name: "Of another product"})
	for _, a := range []reply{v.get("products"), v.get("search?q=a/b"), v.link(v.get("licenses"), "One")} {
		a = v.link(a, "a/b &amp; c\\?")
		is.Equal(a.Request.URL.Query().Get("product"), id)
		is.Equal(names(a), "One")
	}
}

// activationsShown returns the fingerprints in the list of activations.
func activationsShown(a reply) string {
	var list []string
	for _, m := range regexp.MustCompile(`data-label="Fingerprint" title="([^"]*)"`).FindAllStringSubmatch(a.body, -1) {
		list = append(list, m[1])
	}
	return strings.Join(list, " ")
}

func TestCustomerPageListsActivations(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	v := s.admin()
	one := s.license(api.CreateLicenseParams{Name: "One", CustomerID: "ines", Terms: api.Terms{LeaseSeconds: ptr[int64](20 * 60 * 60)}})
	require.Contains(t, v.get("customer?id=ines").body, `<p class="muted">None.</p>`)
	two := s.license(api.CreateLicenseParams{Name: "Two", CustomerID: "ines", Terms: api.Terms{LeaseSeconds: ptr[int64](20 * 60 * 60)}})
	other := s.license(api.CreateLicenseParams{Name: "Other", CustomerID: "other", ProductID: "compass"})
	desk := s.activate(one, "pc-1", "Front desk")
	s.advance(2 * time.Hour)
	s.activate(two, "pc-2", "")
	s.activate(other, "pc-3", "")
	ended := s.activate(two, "pc-4", "")
	_, err := s.Service().ReleaseActivation(t.Context(), api.ReleaseActivationParams{LicenseID: two.ID, ActivationID: ended.ID})
	is.NoErr(err)
	for _, page := range []string{"customer?id=ines"} {
		a := v.get(page)
		is.Equal(activationsShown(a), "pc-2 pc-1")
		require.NotContains(t, a.body, "newest licenses.", "seen last")
		s.advance(2 * time.Hour)
		s.activate(one, "pc-1", "Front desk") // seen again
		a = v.get(page)
		is.Equal(activationsShown(a), "pc-1 pc-2")
		require.Contains(t, v.link(a, "pc-2").body, two.Name) // it has no name
		seats := v.link(a, "Front desk")
		require.HasSuffix(t, seats.Request.URL.Path, one.ID+"/activations")
		require.Contains(t, a.body, "#"+desk.ID+`"`)
		require.Contains(t, seats.body, `id="`+desk.ID+`"`)
		s.activate(two, "pc-2", "")
		s.advance(2 * time.Hour)
		s.activate(two, "pc-2", "")
	}

	for i := range 10 {
		s.activate(two, fmt.Sprintf("more-%d", i), "")
	}
	a := v.get("customer?id=ines")
	is.Equal(len(strings.Fields(activationsShown(a))), 10)
	require.Contains(t, a.body, "The 10 seen last of 12 active activations.")
	for i := range 10 {
		s.advance(time.Millisecond)
		s.license(api.CreateLicenseParams{Name: fmt.Sprintf("Later %d", i), CustomerID: "ines"})
	}
	require.Contains(t, v.get("customer?id=ines").body, "None of the 10 newest licenses.")
	s.advance(time.Millisecond)
	full := s.license(api.CreateLicenseParams{Name: "Full", CustomerID: "ines"})
	s.activate(full, "pc-5", "")
	require.Contains(t, v.get("customer?id=ines").body, "Only those of the 10 newest licenses.")
	for i := range 200 {
		s.activate(full, fmt.Sprintf("pc-6-%d", i), "")
	}
	require.Contains(t, v.get("customer?id=ines").body, "The 10 seen last among 200 of the active activations of the 10 newest licenses.")
}

func TestSuspendCustomer(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	v := s.admin()
	l := s.license(api.CreateLicenseParams{Name: "Atlas for Ines", CustomerID: "ines"})
	status := func() api.LicenseStatus {
		l, err := s.Service().Get(t.Context(), l.ID)
		is.NoErr(err)
		return l.Status
	}
	ask := v.link(v.get("customer?id=ines"), "Suspend customer")
	require.Contains(t, v.link(ask, "Cancel").body, "<code>ines</code>")
	done := v.follow(v.post("customer/suspend?id=ines", "reason", "<unpaid>"))
	is.Equal(done.notice(), "The customer has been suspended.")
	is.Equal(status(), api.LicenseSuspended)
	require.Contains(t, done.body, "The customer is suspended", "&lt;unpaid&gt;", "Customer suspended", "License suspended")
	require.Contains(t, v.post("licenses/"+l.ID+"/reinstate").body, "The customer is suspended. Reinstate the customer.")

	v.link(done, "Reinstate customer")
	done = v.follow(v.post("customer/reinstate?id=ines"))
	is.Equal(done.notice(), "The customer has been reinstated.")
	is.Equal(status(), api.LicenseActive)
	require.NotContains(t, done.body, "The customer is suspended")
	is.Equal(v.get("customer/suspend").StatusCode, http.StatusNotFound)

	s.operator("vic@example.com", operator.RoleViewer)
	viewer := s.signedIn("vic@example.com")
	require.NotContains(t, viewer.get("customer?id=ines").body, "Suspend customer")
	is.Equal(viewer.post("customer/suspend?id=ines").StatusCode, http.StatusForbidden)
}

func TestEraseCustomer(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	v := s.admin()
	l := s.license(api.CreateLicenseParams{Name: "Atlas for Ines", CustomerID: "ines"})
	other := s.license(api.CreateLicenseParams{Name: "Atlas", CustomerID: "other"})
	ask := v.link(v.get("customer?id=ines"), "Erase customer data")
	require.Contains(t, ask.body, "Type “ines” to confirm.")
	require.Contains(t, v.link(ask, "Cancel").body, "<code>ines</code>")
	for _, typed := range []string{"", "ine", "other"} {
		is.Equal(v.post("customer/erase?id=ines", "customer", typed).StatusCode, http.StatusUnprocessableEntity)
	}
	_, err := s.Service().Get(t.Context(), l.ID)
	is.NoErr(err)
	done := v.follow(v.post("customer/erase?id=ines", "customer", "ines"))
	is.Equal(done.notice(), "The customer&#39;s data has been erased.")
	_, err = s.Service().Get(t.Context(), l.ID)
	is.True(err != nil)
	_, err = s.Service().Get(t.Context(), other.ID)
	is.NoErr(err)
	require.NotContains(t, v.get("audit").body, "Atlas for Ines")
	require.Contains(t, v.get("audit").body, "Customer erased")

	s.operator("vic@example.com", operator.RoleViewer)
	viewer := s.signedIn("vic@example.com")
	require.NotContains(t, viewer.get("customer?id=other").body, "Erase customer data")
	is.Equal(viewer.post("customer/erase?id=other", "customer", "other").StatusCode, http.StatusForbidden)
}
