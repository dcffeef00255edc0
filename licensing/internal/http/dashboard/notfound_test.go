package dashboard_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth/operator"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

const navigation = `<nav aria-label="Main">`

func TestNotFoundPageKeepsNavigation(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	v := s.admin()
	for _, page := range []string{"nowhere", "licenses/a/b/c/d", "settings/nowhere"} {
		a := v.get(page)
		is.Equal(a.StatusCode, http.StatusNotFound)
		require.Contains(t, a.body, navigation, "ada@example.com")
	}
	stranger := s.visitor().get("nowhere")
	is.Equal(stranger.StatusCode, http.StatusNotFound)
	require.NotContains(t, stranger.body, navigation)
}

func TestNotFoundPageUsesHostSignIn(t *testing.T) {
	is := is.New(t)
	s := newSiteOn(t, memory.New(), licensing.Options{Dashboard: licensing.DashboardOptions{Operator: func(w http.ResponseWriter, r *http.Request) (operator.Operator, bool) {
		if r.Header.Get("X-User") == "" {
			http.Error(w, "Log in at the host.", http.StatusUnauthorized)
			return operator.Operator{}, false
		}
		return operator.Operator{ID: "host-ada", Email: "ada@host.example", Role: operator.RoleAdmin}, true
	}}})
	for _, page := range []string{"nowhere", "settings/nowhere"} {
		is.Equal(s.visitor().get(page).StatusCode, http.StatusUnauthorized)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.base+"/dashboard/"+page, nil)
		is.NoErr(err)
		req.Header.Set("X-User", "ada")
		a := s.visitor().do(req)
		is.Equal(a.StatusCode, http.StatusNotFound)
		require.Contains(t, a.body, navigation, "ada@host.example")
	}
}

func TestPagesOfDeletedObjects(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	v := s.admin()
	l := s.license(api.CreateLicenseParams{Name: "Atlas"})
	is.Equal(v.post("licenses/"+l.ID+"/delete", "key", lastGroup(l.Key)).StatusCode, http.StatusSeeOther)
	w, _, err := s.Webhooks().Create(t.Context(), api.CreateWebhookParams{URL: "https://shop.example/hook"})
	is.NoErr(err)
	is.Equal(v.post("settings/webhooks/"+w.ID+"/delete").StatusCode, http.StatusSeeOther)
	for page, says := range map[string]string{
		"licenses/" + l.ID:                    "This license was deleted on 1 Mar 2026, 12:00 by ada@example.com.",
		"licenses/" + l.ID + "/edit":          "This license was deleted on",
		"licenses/" + l.ID + "/suspend":       "This license was deleted on",
		"settings/webhooks/" + w.ID:           "This webhook was deleted on",
		"settings/webhooks/" + w.ID + "/edit": "This webhook was deleted on",
	} {
		a := v.get(page)
		is.Equal(a.StatusCode, http.StatusNotFound)
		require.Contains(t, a.body, says, navigation)
		id := regexp.MustCompile(`(lic|whk)_\w+`).FindString(page)
		require.Contains(t, a.body, `href="`+strings.Repeat("../", strings.Count(page, "/"))+`audit?subject=`+id+`"`)
	}
	require.Contains(t, v.get("licenses/lic_nowhere").body, "There is no license with this ID.")
	require.Contains(t, v.get("settings/webhooks/whk_nowhere").body, "There is no webhook with this ID.")
	for page, says := range map[string]string{
		"purchase/unknown":                "There is no purchase with this reference.",
		"purchase/unknown/license":        "There is no purchase with this reference.",
		"plan/unknown":                    "There is no plan with this ID.",
		"settings/operators/op_nowhere":   "There is no operator with this ID",
		"settings/credentials/cid_nobody": "There is no API client with this ID.",
	} {
		a := v.get(page)
		is.Equal(a.StatusCode, http.StatusNotFound)
		require.Contains(t, a.body, says)
		require.NotContains(t, a.body, "this client")
	}
	other := s.license(api.CreateLicenseParams{Name: "Atlas"})
	a := v.get("licenses/" + other.ID + "/activations/act_nowhere/release")
	is.Equal(a.StatusCode, http.StatusNotFound)
	require.Contains(t, a.body, "This record does not exist. Check the address.")
	is.Equal(v.get("licenses/%00").StatusCode, http.StatusNotFound)
}
