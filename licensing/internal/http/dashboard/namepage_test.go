package dashboard_test

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth/operator"
	"github.com/seed-d8a106b4/licensekit/internal/require"
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
	_, err := s.Service().Suspend(t.Context(), api.MoveLicenseParams{ID: held.ID, Reason: "The invoice is open"})
	is.NoErr(err)

	a := v.link(v.get("customers"), "(?:One|Two)")
	is.Equal(a.Request.URL.Path+"?"+a.Request.URL.Query().Encode(), mount+"/dashboard/"+page)
	require.Contains(t, a.body, `<span class="number">2</span> Licenses`, `<span class="number">1</span> <span class="pill suspended">`)
	require.Contains(t, a.body, "One", "Two", "The invoice is open")
	require.NotContains(t, a.body, "Of another customer")
	is.Equal(names(v.link(a, "View all licenses")), names(v.get("licenses?"+url.Values{"customer": {id}}.Encode())))
	form := fields(v.link(a, "New license"))
	is.Equal(form.Get("customer_id"), id)
	licensePage := v.link(a, "One")
	is.Equal(v.link(licensePage, "a/b &amp; c\\?").Request.URL.Query().Get("id"), id)
	is.Equal(names(v.link(licensePage, "compass")), "One")
	require.Contains(t, licensePage.Request.URL.Path, one.ID)

	is.Equal(v.get("customer").StatusCode, http.StatusNotFound)
	is.Equal(v.get("customer?id=lic_x").StatusCode, http.StatusNotFound)
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
	_, err := s.Selling().Fulfill(t.Context(), api.FulfillParams{Reference: "sub_1", At: s.clock(), CustomerID: "paid", PlanID: "price_2", State: api.PurchaseActive})
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
