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

	"github.com/seed-d8a106b4/licensekit/auth"
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
	licensePage := v.link(a, "One") // leads back to the licenses of the customer
	is.Equal(v.link(licensePage, "Licenses").Request.URL.Query().Get("customer"), id)
	is.Equal(v.link(licensePage, "a/b &amp; c\\?").Request.URL.RawQuery, a.Request.URL.RawQuery)
	require.Contains(t, v.link(licensePage, "compass").body, "<h1>compass</h1>")
	require.Contains(t, licensePage.Request.URL.Path, one.ID)

	is.Equal(v.get("customer").StatusCode, http.StatusNotFound)
	is.Equal(v.get("customer?id=lic_x").StatusCode, http.StatusNotFound)
}

// TestNamePageOfNothing: an ID that nothing has is not a customer or a product without
// licenses.
func TestNamePageOfNothing(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	v := s.admin()
	_, _, err := s.Auth().CreateClient(t.Context(), auth.CreateClientParams{Name: "Every shop"})
	is.NoErr(err)
	for _, page := range []string{"customer?id=typo", "product?id=typo"} {
		a := v.get(page)
		is.Equal(a.StatusCode, http.StatusNotFound)
		require.Contains(t, a.body, "no license, purchase, plan or recorded event has it")
	}
	former := s.license(api.CreateLicenseParams{Name: "Atlas", CustomerID: "former", ProductID: "sold out"})
	is.NoErr(s.Service().Delete(t.Context(), api.DeleteLicenseParams{ID: former.ID}))
	_, err = s.Selling().PutPlan(t.Context(), api.PutPlanParams{ID: "price_1", Name: "Compass", ProductID: "compass"})
	is.NoErr(err)
	_, err = s.Selling().Fulfill(t.Context(), api.FulfillParams{Reference: "sub_1", At: s.clock(), CustomerID: "paid", PlanID: "price_2", State: api.PurchaseActive})
	is.NoErr(err)
	_, _, err = s.Auth().CreateClient(t.Context(), auth.CreateClientParams{Name: "Beacon shop", Products: []string{"beacon"}})
	is.NoErr(err)
	for _, page := range []string{"customer?id=former", "customer?id=paid", "product?id=sold+out", "product?id=compass", "product?id=beacon"} {
		a := v.get(page)
		is.Equal(a.StatusCode, http.StatusOK)
		require.Contains(t, a.body, "No licenses.")
		require.NotContains(t, a.body, "No events are kept")
	}
}

func TestProductPage(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	v := s.admin()
	for i := range 201 {
		s.license(api.CreateLicenseParams{Name: fmt.Sprintf("Number %d", i), CustomerID: fmt.Sprintf("customer-%d", i)})
	}
	s.license(api.CreateLicenseParams{Name: "Of another product", ProductID: "atlas-pro"})
	a := v.link(v.get("products"), "atlas")
	require.Contains(t, a.body, `<span class="number">201</span> Licenses`, `class="pill suspended"`)
	require.NotContains(t, a.body, "Of another product", "Erase")
	require.Contains(t, a.body, "License created")
	is.Equal(strings.Count(a.body, `scope="row"`), 10)
	form := fields(v.link(a, "New license"))
	is.Equal(form.Get("product_id"), "atlas")
}

func TestProductPageListsIntegrations(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	s.license(api.CreateLicenseParams{Name: "Atlas"})
	v := s.admin()
	require.Contains(t, v.get("product?id=atlas").body, `webhooks</h2>`+"\n"+`<p class="muted">None.</p>`)
	for name, products := range map[string][]string{"Atlas shop": {"atlas"}, "Compass shop": {"compass"}, "Every shop": nil} {
		_, _, err := s.Auth().CreateClient(t.Context(), auth.CreateClientParams{Name: name, Products: products})
		is.NoErr(err)
	}
	hook, _, err := s.Webhooks().Create(t.Context(), api.CreateWebhookParams{URL: "https://hooks.example", Products: []string{"atlas", "compass"}})
	is.NoErr(err)
	_, _, err = s.Webhooks().Create(t.Context(), api.CreateWebhookParams{URL: "https://other.example", Products: []string{"compass"}})
	is.NoErr(err)
	v.post("settings/webhooks/" + hook.ID + "/pause")

	a := v.get("product?id=atlas")
	require.Contains(t, a.body, `Atlas shop</a> <span class="muted small">API credential · only this product</span>`)
	require.Contains(t, a.body, `Every shop</a> <span class="muted small">API credential · all products</span>`)
	require.Contains(t, a.body, `hooks.example</a> <span class="muted small">Webhook · some products · paused</span>`)
	require.NotContains(t, a.body, "Compass shop", "other.example", "There may be more")
	require.Less(t, strings.Index(a.body, "hooks.example"), strings.Index(a.body, "Every shop")) // those for some products first
	is.Equal(v.link(a, "hooks.example").StatusCode, http.StatusOK)
	is.Equal(v.link(a, "Atlas shop").StatusCode, http.StatusOK)
	require.NotContains(t, v.get("customer?id=customer").body, "hooks.example")

	s.operator("sue@example.com", operator.RoleSupport)
	a = s.signedIn("sue@example.com").get("product?id=atlas")
	require.Contains(t, a.body, "hooks.example")
	require.NotContains(t, a.body, "Atlas shop", "API credential")

	for i := range 20 {
		_, _, err := s.Auth().CreateClient(t.Context(), auth.CreateClientParams{Name: fmt.Sprintf("Client %d", i)})
		is.NoErr(err)
	}
	a = v.get("product?id=atlas")
	is.Equal(strings.Count(a.body, "API credential · all products"), 18)
	require.Contains(t, a.body, "There may be more.")
}

// activationsShown returns the fingerprints in the list of activations.
func activationsShown(a reply) string {
	var list []string
	for _, m := range regexp.MustCompile(`data-label="Fingerprint" title="([^"]*)"`).FindAllStringSubmatch(a.body, -1) {
		list = append(list, m[1])
	}
	return strings.Join(list, " ")
}

func TestNamePagesListActivations(t *testing.T) {
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
	for _, page := range []string{"customer?id=ines", "product?id=atlas"} {
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
