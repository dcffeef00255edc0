package dashboard_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth/operator"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard"
)

// TestUnknownParameters opens every page with a parameter that it does not have.
func TestUnknownParameters(t *testing.T) {
	s := newSite(t)
	v := s.admin()
	parameter := regexp.MustCompile(`{[^}]*}`)
	for _, route := range dashboard.Routes() {
		if route.Method != http.MethodGet {
			continue
		}
		t.Run(route.Path, func(t *testing.T) {
			is := is.New(t)
			a := v.get(parameter.ReplaceAllString(route.Path, "x") + "?product_id=atlas")
			is.Equal(a.StatusCode, http.StatusBadRequest)
			require.Contains(t, a.body, "This page has no parameter “product_id”.")
		})
	}
}

// A filter that the operator has mistyped must not select all licenses.
func TestFiltersThatWouldBeIgnored(t *testing.T) {
	s := newSite(t)
	v := s.admin()
	one, other := s.license(api.CreateLicenseParams{Name: "one"}), s.license(api.CreateLicenseParams{Name: "other"})
	const all = "licenses/selected/suspend?all=1"
	for _, page := range []string{
		all + "&product_id=compass", all + "&product=compass&product=atlas", all + "&expires=31d", all + "&status=suspend", all + "&product=%zz",
		all + "&;product=compass", all + "&id=" + one.ID, "licenses/selected/suspend?product=compass&id=" + one.ID, "licenses/selected/suspend?product=compass",
		all + "&%zz", "licenses/selected/suspend?all=0&id=" + one.ID,
		"licenses.csv?product_id=compass", "licenses.csv?expires=31d", "licenses.csv?of=select&id=" + one.ID, "licenses.csv?of=selected&all=1", "licenses.csv?of=selected&product=compass",
		"licenses?product=compass&product=atlas", "customer/erase?id=a&id=b",
	} {
		t.Run(page, func(t *testing.T) {
			is := is.New(t)
			a := v.get(page)
			is.True(a.StatusCode == http.StatusBadRequest || a.StatusCode == http.StatusUnprocessableEntity && strings.Contains(page, "status"))
			require.NotContains(t, a.body, one.Key, "Suspend 2")
		})
	}
	is := is.New(t)
	is.Equal(v.post("licenses/selected/suspend?product_id=compass", "id", one.ID).StatusCode, http.StatusBadRequest)
	csv := v.get("licenses.csv?id=" + other.ID)
	require.Contains(t, csv.body, other.Key)
	require.NotContains(t, csv.body, one.Key)
}

// The sign-in of a host may have parameters of its own on every page.
func TestParametersOfAHostSignIn(t *testing.T) {
	is := is.New(t)
	s := signInBy(t, func(w http.ResponseWriter, r *http.Request) (op operator.Operator, ok bool) {
		if r.URL.Query().Has("code") {
			http.Redirect(w, r, "licenses", http.StatusFound)
			return op, false
		}
		return operator.Operator{ID: "7", Role: operator.RoleAdmin}, true
	})
	is.Equal(s.visitor().get("licenses?code=1").StatusCode, http.StatusFound)
}

// A page of a list that does not exist is no fault of the search or of the service.
func TestUnknownPages(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	v := s.admin()
	one := s.license(api.CreateLicenseParams{Name: "One"})
	for _, page := range []string{
		"plans?after=x", "settings/webhooks?after=x",
		"refusals?reason=expired&cursor=x", "search?q=abc&activations=x", "licenses/" + one.ID + "/activations?cursor=x", "audit?subject=" + one.ID + "&after=x",
	} {
		a := v.get(page)
		is.Equal(a.StatusCode, http.StatusBadRequest)
		require.Contains(t, a.body, "This page of the list does not exist. Start again from the first page.")
	}
}
