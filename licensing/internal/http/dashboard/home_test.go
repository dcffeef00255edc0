package dashboard_test

import (
	"net/http"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth/operator"
	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

func TestHomeURL(t *testing.T) {
	s := newSiteOn(t, memory.New(), licensing.Options{Dashboard: licensing.DashboardOptions{HomeURL: "https://admin.example.com/start"}})
	require.Contains(t, s.admin().get("licenses").body, `<a href="https://admin.example.com/start">Back to application</a>`)
	require.NotContains(t, newSite(t).admin().get("licenses").body, "Back to application")
}

// TestOfficeLink: the pages of a program that has an office page link to it, for admins.
func TestOfficeLink(t *testing.T) {
	const link = `License office</a>`
	s := newSite(t)
	v := s.admin()
	require.NotContains(t, v.get("licenses").body, link)
	inner.Of(s.Handler).LinkOffice()
	require.Contains(t, v.get("licenses").body, link, `<a href="./office">`)
	s.operator("vic@example.com", operator.RoleSupport)
	require.NotContains(t, s.signedIn("vic@example.com").get("licenses").body, link)
}

// TestOfficeSellsNothing: the dashboard of an office opens at the office's own page until a
// license is there, and has neither set-up steps nor what sells.
func TestOfficeSellsNothing(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	v := s.admin()
	sells := []string{`href="./plans"`, `href="./purchases"`, `licenses/new`, `href="./sales`, "Setup:", "No licenses yet", `id="due-title"`}
	pages := []string{"", "licenses", "licenses?q=nothing", "customers", "customer?id=harbour-pilots"}
	require.Contains(t, v.get("").body, sells[:3]...)
	inner.Of(s.Handler).LinkOffice()
	a := v.get("")
	is.Equal(a.StatusCode, http.StatusSeeOther)
	is.Equal(a.to(), "./office")
	s.license(api.CreateLicenseParams{Name: "Acme Ltd"})
	for _, page := range pages {
		a := v.get(page)
		is.Equal(a.StatusCode, http.StatusOK)
		require.NotContains(t, a.body, sells...)
	}
	require.Contains(t, v.get("").body, "1 license</h2>", "Nothing needs attention.")
}

func TestSignOutURL(t *testing.T) {
	o := licensing.DashboardOptions{SignOutURL: "https://admin.example.com/logout"}
	link := `<a href="https://admin.example.com/logout">Sign out</a>`
	require.NotContains(t, newSiteOn(t, memory.New(), licensing.Options{Dashboard: o}).admin().get("licenses").body, link) // the built-in sign-in has its own button
	o.Operator = func(http.ResponseWriter, *http.Request) (operator.Operator, bool) {
		return operator.Operator{ID: "7", Role: operator.RoleViewer}, true
	}
	a := newSiteOn(t, memory.New(), licensing.Options{Dashboard: o}).visitor().get("licenses")
	require.Contains(t, a.body, link)
	require.NotContains(t, a.body, "sign-out")
}
