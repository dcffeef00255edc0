package dashboard_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/store"
)

var (
	clientID     = regexp.MustCompile(`cid_\w{49}`)
	clientSecret = regexp.MustCompile(`csk_\w{49}`)
)

// token requests an access token and returns the HTTP status.
func (s *site) token(id, secret string) int {
	s.t.Helper()
	resp, err := http.PostForm(s.base+"/oauth/token", url.Values{"grant_type": {"client_credentials"}, "client_id": {id}, "client_secret": {secret}})
	is.New(s.t).NoErr(err)
	defer resp.Body.Close()
	return resp.StatusCode
}

// create creates a credential with the form.
func create(v *visitor, form ...string) (a reply, id, secret string) {
	mark := v.get("settings/credentials/new").hidden("once")
	a = v.post("settings/credentials/new", append(form, "once", mark)...)
	return a, clientID.FindString(a.body), clientSecret.FindString(a.body)
}

func TestCreateCredential(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	v := s.admin()
	form := v.get("settings/credentials/new")
	is.True(form.hidden("once") != "")
	fields := []string{"name", "Web shop", "scopes", auth.ScopeLicenseRead, "products", "atlas\r\n\r\n compass \r\n", "once", form.hidden("once")}
	a := v.post("settings/credentials/new", fields...)
	is.Equal(a.StatusCode, http.StatusOK) // the response shows the secret
	is.Equal(a.Header.Get("Cache-Control"), "no-store")
	id, secret := clientID.FindString(a.body), clientSecret.FindString(a.body)
	is.Equal(s.token(id, secret), http.StatusOK)
	require.Contains(t, a.body, "-u &#39;"+id+":"+secret+"&#39;") // in the quick start

	c, err := s.Auth().GetClient(t.Context(), id)
	is.NoErr(err)
	is.Equal(c.Scopes, []string{auth.ScopeLicenseRead})
	is.Equal(c.Products, []string{"atlas", "compass"})

	again := v.post("settings/credentials/new", fields...)
	is.Equal(again.StatusCode, http.StatusConflict)
	require.Contains(t, again.body, "Already submitted", id)
	require.NotContains(t, again.body, secret)
	clients, err := s.Auth().ListClients(t.Context(), auth.ListClientsParams{})
	is.NoErr(err)
	is.Equal(len(clients.Data), 1)

	for _, page := range []string{"settings/credentials", "settings/credentials/" + id, "settings/credentials/" + id + "/edit"} {
		require.NotContains(t, v.get(page).body, secret) // the secret is not shown again
	}
	require.Contains(t, v.get("settings/credentials/"+id).body, "csk_…"+secret[len(secret)-4:])
	require.NotContains(t, s.log.String(), secret)
	events, err := s.st.Events(t.Context(), store.EventQuery{})
	is.NoErr(err)
	all, err := json.Marshal(events)
	is.NoErr(err)
	require.NotContains(t, string(all), secret)
	for _, kind := range []string{"once", "session", "client"} {
		entries, err := s.st.Entries(t.Context(), store.EntryQuery{Kind: kind})
		is.NoErr(err)
		require.Greater(t, len(entries), 0)
		for _, e := range entries {
			require.NotContains(t, string(e.Data), secret)
		}
	}
}

func TestCreateCredentialErrors(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	v := s.admin()
	mark := v.get("settings/credentials/new").hidden("once")
	a := v.post("settings/credentials/new", "name", "", "once", mark)
	is.Equal(a.StatusCode, http.StatusUnprocessableEntity)
	require.Contains(t, a.body, `<a href="#f-scopes-0">Scopes</a>: Select at least one.`, `<a href="#f-name">Name</a>`) // both errors together
	a = v.post("settings/credentials/new", "name", "", "scopes", auth.ScopeLicenseRead, "once", mark)
	is.Equal(a.StatusCode, http.StatusUnprocessableEntity)
	require.Contains(t, a.body, `<a href="#f-name">Name</a>`, `aria-invalid="true"`)
	a = v.post("settings/credentials/new", "name", "Web shop", "scopes", auth.ScopeLicenseRead, "once", a.hidden("once"))
	is.Equal(a.StatusCode, http.StatusOK) // the form can be submitted again after an error
}

func TestRotateSecret(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	v := s.admin()
	_, id, first := create(v, "name", "Web shop", "scopes", auth.ScopeLicenseRead)
	page := "settings/credentials/" + id

	fields := []string{"overlap", "1h0m0s", "once", v.get(page + "/rotate").hidden("once")}
	a := v.post(page+"/rotate", fields...)
	second := clientSecret.FindString(a.body)
	is.True(second != "" && second != first)
	is.Equal(s.token(id, first), http.StatusOK)
	is.Equal(s.token(id, second), http.StatusOK)
	require.Contains(t, v.get(page).body, "expires in 1 hour")
	is.Equal(v.post(page+"/rotate", fields...).StatusCode, http.StatusConflict) // the same form

	a = v.post(page+"/rotate", "overlap", "24h0m0s", "once", v.get(page+"/rotate").hidden("once"))
	is.Equal(a.StatusCode, http.StatusUnprocessableEntity) // two secrets are the maximum
	require.Contains(t, a.body, "Revoke both immediately")
	s.advance(time.Hour)
	is.Equal(s.token(id, first), http.StatusBadRequest)
	is.Equal(s.token(id, second), http.StatusOK)

	a = v.post(page+"/rotate", "overlap", "0s", "once", v.get(page+"/rotate").hidden("once"))
	third := clientSecret.FindString(a.body)
	is.Equal(s.token(id, second), http.StatusBadRequest)
	is.Equal(s.token(id, third), http.StatusOK)

	revoke := regexp.MustCompile(`secrets/\w+/revoke`).FindString(v.get(page).body)
	require.Contains(t, v.get(page+"/"+revoke).body, third[len(third)-4:])
	is.Equal(v.post(page+"/"+revoke).to(), "../../../../../"+page)
	is.Equal(s.token(id, third), http.StatusBadRequest)
	require.Contains(t, v.get(page).body, "no secret")
	is.Equal(v.get(page+"/"+revoke).StatusCode, http.StatusNotFound)

	fourth := clientSecret.FindString(v.post(page+"/rotate", "overlap", "0s").body)
	is.Equal(s.token(id, fourth), http.StatusOK)
}

func TestDisableAndEditCredential(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	v := s.admin()
	_, id, secret := create(v, "name", "Web shop", "scopes", auth.ScopeLicenseRead)
	page := "settings/credentials/" + id
	require.Contains(t, v.get(page+"/disable").body, "tokens stop working within one second")
	is.Equal(v.post(page+"/disable").StatusCode, http.StatusSeeOther)
	is.Equal(s.token(id, secret), http.StatusBadRequest)
	require.Contains(t, v.get(page).body, `<span class="pill">disabled</span>`)
	is.Equal(v.post(page+"/enable").StatusCode, http.StatusSeeOther)
	is.Equal(s.token(id, secret), http.StatusOK)
	require.Contains(t, v.get(page).body, "secret sent in a form")

	a := v.change(page+"/edit", "name", "Shop", "scopes", auth.ScopeLicenseRead, "scopes", auth.ScopeEventRead, "products", "")
	is.Equal(a.StatusCode, http.StatusSeeOther)
	c, err := s.Auth().GetClient(t.Context(), id)
	is.NoErr(err)
	is.Equal(c.Name, "Shop")
	is.Equal(c.Scopes, []string{auth.ScopeLicenseRead, auth.ScopeEventRead})
	is.Equal(c.Products, nil) // a blank field means all products
	is.Equal(v.change(page+"/edit", "name", "Shop").StatusCode, http.StatusUnprocessableEntity)
	is.Equal(v.change(page+"/edit", "name", "", "scopes", auth.ScopeLicenseRead).StatusCode, http.StatusUnprocessableEntity)
}
