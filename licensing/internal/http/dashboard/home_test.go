package dashboard_test

import (
	"net/http"
	"testing"

	"github.com/seed-d8a106b4/licensekit/auth/operator"
	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
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
