package dashboard_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth/operator"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/files"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// signingKeys returns the keys of the ring, oldest first, and their states.
func (s *site) signingKeys() (keys []files.Key, states string) {
	s.t.Helper()
	keys, err := s.Files().Keys(s.t.Context())
	is.New(s.t).NoErr(err)
	for _, k := range keys {
		states += " " + string(k.State)
	}
	return keys, states[1:]
}

func TestSigningKeys(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	v := s.admin()
	a := v.get("settings/keys")
	keys, _ := s.signingKeys()
	is.Equal(len(keys), 2)
	for _, k := range keys {
		require.Contains(t, a.body, `<code>`+k.ID+`</code>`, k.ID+"/compromise")
	}
	require.Contains(t, a.body, `<span class="pill active">active</span>`, `<span class="pill scheduled">next</span>`)
	require.Contains(t, a.body, "EdDSA", `Store, <span class="nowrap">unencrypted<`, "Private keys are stored unencrypted.")
	require.Contains(t, a.body, `data-copy="jwks"`)
	require.Contains(t, a.body, "&#34;kid&#34;: &#34;"+keys[0].ID)

	download := v.get("settings/keys.json")
	is.Equal(download.Header.Get("Content-Disposition"), `attachment; filename="license-keys.json"`)
	is.Equal(download.Header.Get("Content-Type"), "application/jwk-set+json")
	set, err := s.Files().KeySet(t.Context())
	is.NoErr(err)
	want, err := json.Marshal(set)
	is.NoErr(err)
	var got bytes.Buffer
	is.NoErr(json.Compact(&got, []byte(download.body)))
	is.Equal(strings.TrimSpace(got.String()), string(want))
}

func TestSealedSigningKeys(t *testing.T) {
	s := newSiteOn(t, memory.New(), licensing.Options{MasterKey: make([]byte, 32)})
	a := s.admin().get("settings/keys")
	require.Contains(t, a.body, "Store, encrypted")
	require.NotContains(t, a.body, "unencrypted")
}

func TestRotateSigningKey(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	v := s.admin()
	before, _ := s.signingKeys()
	const page = "settings/keys/rotate"
	form := v.get(page)
	require.Contains(t, form.body, before[1].ID)
	require.Contains(t, form.body, `name="force"`)
	next, once := form.hidden("next"), form.hidden("once")
	is.Equal(next, before[1].ID)

	a := v.post(page, "next", next, "once", once)
	is.Equal(a.StatusCode, http.StatusUnprocessableEntity)
	require.Contains(t, a.body, `<a href="#f-force-0">`, "Select this to rotate now")
	a = v.post(page, "next", next, "once", once, "force", "1")
	is.Equal(a.to(), "../../settings/keys")
	is.Equal(v.follow(a).notice(), "The next key signs license files now.")
	keys, states := s.signingKeys()
	is.Equal(states, "verify active next")
	is.Equal(keys[1].ID, before[1].ID)

	require.HasPrefix(t, v.follow(v.post(page, "next", next, "once", once, "force", "1")).notice(), "This form was already submitted.")
	a = v.post(page, "next", next, "force", "1") // an outdated page
	is.Equal(a.StatusCode, http.StatusConflict)
	require.Contains(t, a.body, "The keys were changed after you opened this page.")
	require.Contains(t, a.body, keys[2].ID)
	_, states = s.signingKeys()
	is.Equal(states, "verify active next")

	s.advance(files.MinPublished)
	v = s.signedIn("ada@example.com")
	form = v.get(page)
	require.NotContains(t, form.body, `name="force"`)
	is.Equal(v.post(page, flat(fields(form))...).StatusCode, http.StatusSeeOther)
	_, states = s.signingKeys()
	is.Equal(states, "verify verify active next")
	audit := v.get("audit?type=signing_key.rotated")
	require.Contains(t, audit.body, keys[1].ID)
	require.Contains(t, audit.body, keys[2].ID)
	require.NotContains(t, audit.body, keys[0].ID)
}

func TestCompromisedSigningKey(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	v := s.admin()
	before, _ := s.signingKeys()
	id := before[0].ID
	page := "settings/keys/" + id + "/compromise"
	end := id[len(id)-6:]
	form := v.get(page)
	require.Contains(t, form.body, "Type "+end+" to confirm.", "The next key becomes active immediately")
	for _, typed := range []string{"", id[:6], strings.ToUpper(end) + "x"} {
		a := v.post(page, "key", typed)
		is.Equal(a.StatusCode, http.StatusUnprocessableEntity)
		require.Contains(t, a.body, `<a href="#f-key">`)
	}
	_, states := s.signingKeys()
	is.Equal(states, "active next")

	a := v.follow(v.post(page, "key", end))
	is.Equal(a.notice(), "The key has been marked as compromised.")
	require.Contains(t, a.body, `<span class="pill revoked">compromised</span>`)
	require.NotContains(t, a.body, id+"/compromise", "&#34;kid&#34;: &#34;"+id)
	_, states = s.signingKeys()
	is.Equal(states, "compromised active next")
	is.Equal(v.get(page).StatusCode, http.StatusConflict)
	is.Equal(v.post(page, "key", end).StatusCode, http.StatusConflict)
	is.Equal(v.get("settings/keys/nowhere/compromise").StatusCode, http.StatusNotFound)
}

// TestKeysOutsideTheStore says which change has to be made in Go.
func TestKeysOutsideTheStore(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	v := s.admin()
	keys, _ := s.signingKeys()
	elsewhere, err := licensing.NewHandler(memory.New(), licensing.Options{}).Files().Keys(t.Context())
	is.NoErr(err)
	_, err = s.Files().AddKey(t.Context(), files.AddKeyParams{Public: elsewhere[0].Public})
	is.NoErr(err)
	_, err = s.Files().RetireKey(t.Context(), keys[1].ID)
	is.NoErr(err)
	require.Contains(t, v.get("settings/keys").body, "Kept elsewhere")
	a := v.post("settings/keys/rotate", "next", elsewhere[0].ID, "force", "1")
	is.Equal(a.StatusCode, http.StatusConflict)
	require.Contains(t, a.body, "The private half of the next key is kept elsewhere.")
	a = v.post("settings/keys/"+keys[0].ID+"/compromise", "key", keys[0].ID[len(keys[0].ID)-6:])
	is.Equal(a.StatusCode, http.StatusConflict)
	require.Contains(t, a.body, "Pass it in Go")
	_, states := s.signingKeys()
	is.Equal(states, "active retired next")
}

func TestOnlyAdminsManageSigningKeys(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	require.Contains(t, s.admin().get("").body, "settings/keys")
	for _, role := range []operator.Role{operator.RoleSupport, operator.RoleViewer} {
		s.operator(string(role)+"@example.com", role)
		v := s.signedIn(string(role) + "@example.com")
		require.NotContains(t, v.get("").body, "settings/keys")
		is.Equal(v.get("settings/keys").StatusCode, http.StatusForbidden)
		is.Equal(v.post("settings/keys/rotate", "force", "1").StatusCode, http.StatusForbidden)
	}
	_, states := s.signingKeys()
	is.Equal(states, "active next")
}
