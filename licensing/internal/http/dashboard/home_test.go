package dashboard_test

import (
	"net/http"
	"testing"

	"github.com/seed-d8a106b4/licensekit/auth/operator"
	"github.com/seed-d8a106b4/licensekit/internal/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

func TestHomeURL(t *testing.T) {
	s := newSiteOn(t, memory.New(), licensing.Options{Dashboard: licensing.DashboardOptions{HomeURL: "https://admin.example.com/start"}})
	require.Contains(t, s.admin().get("licenses").body, `<a href="https://admin.example.com/start">Back to application</a>`)
	require.NotContains(t, newSite(t).admin().get("licenses").body, "Back to application")
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
