package dashboard_test

import (
	"net/http"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth/operator"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

func TestHomeURL(t *testing.T) {
	is := is.New(t)
	s := newSiteOn(t, memory.New(), licensing.Options{Dashboard: licensing.DashboardOptions{HomeURL: "https://admin.example.com/start"}})
	is.True(s.admin().get("licenses").says(`<a href="https://admin.example.com/start">Back to application</a>`))
	is.True(!newSite(t).admin().get("licenses").says("Back to application"))
}

func TestSignOutURL(t *testing.T) {
	is := is.New(t)
	o := licensing.DashboardOptions{SignOutURL: "https://admin.example.com/logout"}
	link := `<a href="https://admin.example.com/logout">Sign out</a>`
	is.True(!newSiteOn(t, memory.New(), licensing.Options{Dashboard: o}).admin().get("licenses").says(link)) // the built-in sign-in has its own button
	o.Operator = func(http.ResponseWriter, *http.Request) (operator.Operator, bool) {
		return operator.Operator{ID: "7", Role: operator.RoleViewer}, true
	}
	a := newSiteOn(t, memory.New(), licensing.Options{Dashboard: o}).visitor().get("licenses")
	is.True(a.says(link))
	is.True(!a.says("sign-out"))
}
