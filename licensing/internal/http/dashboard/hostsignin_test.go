package dashboard_test

import (
	"net/http"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth/operator"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// signInBy returns a site where the host application signs operators in.
func signInBy(t *testing.T, fn func(http.ResponseWriter, *http.Request) (operator.Operator, bool)) *site {
	t.Helper()
	return newSiteOn(t, memory.New(), licensing.Options{Dashboard: licensing.DashboardOptions{Operator: fn}})
}

func TestHostPageHasItsOwnHeaders(t *testing.T) {
	is := is.New(t)
	signedIn := false
	s := signInBy(t, func(w http.ResponseWriter, _ *http.Request) (operator.Operator, bool) {
		if !signedIn {
			w.Header().Set("Referrer-Policy", "origin")
			_, _ = w.Write([]byte(`<style>body{color:red}</style>Sign in`))
		}
		return operator.Operator{ID: "7", Role: operator.RoleAdmin}, signedIn
	})
	a := s.visitor().get("licenses")
	is.Equal(a.StatusCode, http.StatusOK)
	require.Contains(t, a.body, "Sign in")
	is.Equal(a.Header.Get("Content-Security-Policy"), "")
	is.Equal(a.Header.Get("Cross-Origin-Opener-Policy"), "")
	is.Equal(a.Header.Get("Referrer-Policy"), "origin")
	is.Equal(a.Header.Get("Cache-Control"), "no-store")

	signedIn = true
	a = s.visitor().get("licenses")
	require.Contains(t, a.body, "Licenses")
	is.True(a.Header.Get("Content-Security-Policy") != "")
	is.Equal(a.Header.Get("Referrer-Policy"), "same-origin")
}

func TestHostThatDoesNotAnswerIsNamed(t *testing.T) {
	is := is.New(t)
	s := signInBy(t, func(http.ResponseWriter, *http.Request) (operator.Operator, bool) { return operator.Operator{}, false })
	a := s.visitor().get("licenses")
	is.Equal(a.StatusCode, http.StatusInternalServerError)
	is.True(a.Header.Get("Content-Security-Policy") != "")
	require.Contains(t, s.log.String(), "Options.Dashboard.Operator returned false without writing a response")
}

func TestHostThatPanicsGetsAPageWithHeaders(t *testing.T) {
	is := is.New(t)
	s := signInBy(t, func(http.ResponseWriter, *http.Request) (operator.Operator, bool) { panic("no session store") })
	a := s.visitor().get("licenses")
	is.Equal(a.StatusCode, http.StatusInternalServerError)
	is.True(a.Header.Get("Content-Security-Policy") != "")
}

// A host may strip more than one prefix, and mount the handler without a slash.
func TestMountWithoutSlashRedirectsBelowAllPrefixes(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	inner := http.NewServeMux()
	inner.Handle("/licensing", http.StripPrefix("/licensing", s.Handler))
	inner.Handle("/licensing/", http.StripPrefix("/licensing", s.Handler))
	outer := http.NewServeMux()
	outer.Handle("/tenants/acme/", http.StripPrefix("/tenants/acme", inner))
	for _, path := range []string{"/tenants/acme/licensing", "/tenants/acme/licensing?x=1"} {
		w, r := newRecorder(), newRequest(path)
		outer.ServeHTTP(w, r)
		is.Equal(w.Code, http.StatusSeeOther)
		to, err := r.URL.Parse(w.Header().Get("Location"))
		is.NoErr(err)
		is.Equal(to.Path, "/tenants/acme/licensing/dashboard/")
	}
}
