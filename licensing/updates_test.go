package licensing_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
	"github.com/seed-d8a106b4/licensekit/licensing/program"
	"github.com/seed-d8a106b4/licensekit/store/sqlite"
)

// A vendor is a service on SQLite with a token for everything.
type vendor struct {
	t     *testing.T
	h     *licensing.Handler
	token string
}

func newVendor(t *testing.T) vendor {
	is := is.New(t)
	st, err := sqlite.Open(filepath.Join(t.TempDir(), "licensing.db"))
	is.NoErr(err)
	t.Cleanup(func() { st.Close() })
	v := vendor{t: t, h: licensing.NewHandler(st, licensing.Options{Logger: discard})}
	c, secret, err := v.h.Auth().CreateClient(t.Context(), auth.CreateClientParams{Name: "Shop", Scopes: []string{"license:read", "license:write", "event:read"}})
	is.NoErr(err)
	form := "grant_type=client_credentials&client_id=" + c.ID + "&client_secret=" + secret
	r := httptest.NewRequest("POST", "/oauth/token", strings.NewReader(form))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	w := httptest.NewRecorder()
	v.h.ServeHTTP(w, r)
	var token struct {
		AccessToken string `json:"access_token"`
	}
	is.NoErr(json.Unmarshal(w.Body.Bytes(), &token))
	v.token = token.AccessToken
	return v
}

// do sends a request and decodes the answer.
func (v vendor) do(method, path, body string, status int) map[string]any {
	v.t.Helper()
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+v.token)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	w := httptest.NewRecorder()
	v.h.ServeHTTP(w, r)
	if w.Code != status {
		v.t.Fatalf("%s %s %s: %d instead of %d: %s", method, path, body, w.Code, status, w.Body)
	}
	var answer map[string]any
	if err := json.NewDecoder(bytes.NewReader(w.Body.Bytes())).Decode(&answer); err != nil {
		v.t.Fatal(err)
	}
	return answer
}

// pointer returns the field that a refusal with 422 names.
func (v vendor) pointer(method, path, body string) string {
	v.t.Helper()
	errs := v.do(method, path, body, http.StatusUnprocessableEntity)["errors"].([]any)
	return errs[0].(map[string]any)["pointer"].(string)
}

// TestUpdatesUntil: a license that includes updates until a date is valid for builds
// made before that date, online and offline, and a renewal moves the date.
func TestUpdatesUntil(t *testing.T) {
	is := is.New(t)
	v := newVendor(t)
	l := v.do("POST", "/license", `{"name":"Ada","product_id":"atlas","customer_id":"ada","updates_until":"2027-01-31T00:00:00Z"}`, 201)
	id, key := l["id"].(string), l["key"].(string)
	is.Equal(l["updates_until"], "2027-01-31T00:00:00Z")
	is.Equal(v.pointer("POST", "/license", `{"name":"Ada","product_id":"atlas","customer_id":"ada","updates_until":"soon"}`), "#/updates_until")
	is.Equal(v.pointer("POST", "/license/validate", `{"key":"`+key+`","built_at":"today"}`), "#/built_at")

	ask := func(path, built string, status int) map[string]any {
		return v.do("POST", "/license/"+path, `{"key":"`+key+`","fingerprint":"pc","built_at":"`+built+`"}`, status)
	}
	is.Equal(ask("activate", "2027-01-31T00:00:01Z", 409)["code"], "updates_ended")
	is.Equal(ask("activate", "2027-01-31T00:00:00Z", 200)["code"], "valid")
	is.Equal(ask("validate", "2027-01-31T00:00:00Z", 200)["code"], "valid")
	refused := ask("validate", "2027-02-01T00:00:00Z", 200)
	is.Equal(refused["reasons"], []any{map[string]any{"code": "updates_ended",
		"detail": "The license includes updates until 2027-01-31T00:00:00Z, and this build is newer; builds made until then keep running."}})
	is.Equal(v.do("GET", "/license/"+id+"/verdict?built_at=2027-02-01T00:00:00Z", "", 200)["code"], "updates_ended")
	v.do("POST", "/license/"+id+"/suspend", `{}`, 200)
	var codes []string
	for _, r := range v.do("POST", "/license/validate", `{"key":"`+key+`","fingerprint":"other","customer_id":"eve","built_at":"2027-02-01T00:00:00Z"}`, 200)["reasons"].([]any) {
		codes = append(codes, r.(map[string]any)["code"].(string))
	}
	is.Equal(codes, []string{"suspended", "customer_mismatch", "updates_ended", "not_activated"})
	v.do("POST", "/license/"+id+"/reinstate", `{}`, 200)

	// A file says it, and an earlier date outdates earlier files.
	text := v.do("POST", "/license/"+id+"/file", `{"fingerprint":"pc","lifetime":"P14D"}`, 200)["file"].(string)
	keys, err := v.h.Files().KeySet(t.Context())
	is.NoErr(err)
	file, err := keys.Verify(text)
	is.NoErr(err)
	until := time.Date(2027, 1, 31, 0, 0, 0, 0, time.UTC)
	is.Equal(file.UpdatesUntil, until)
	expect := licensefile.Expect{ProductID: "atlas", Fingerprint: "pc", BuiltAt: until}
	is.NoErr(file.Check(expect))
	expect.BuiltAt = until.Add(time.Second)
	is.True(file.Check(expect) != nil)
	is.Equal(v.do("PATCH", "/license/"+id, `{"updates_until":"2027-01-30T00:00:00Z"}`, 200)["generation"], 2.0)

	// Either end can be renewed.
	is.Equal(v.do("POST", "/license/"+id+"/renew", `{"extend":"updates","duration":"P1Y"}`, 200)["updates_until"], "2028-01-30T00:00:00Z")
	is.Equal(v.do("POST", "/license/"+id+"/renew", `{"updates_until":"2029-01-30T00:00:00Z"}`, 200)["updates_until"], "2029-01-30T00:00:00Z")
	is.Equal(v.pointer("POST", "/license/"+id+"/renew", `{"updates_until":"2029-01-29T00:00:00Z"}`), "#/updates_until")
	is.Equal(v.pointer("POST", "/license/"+id+"/renew", `{"duration":"P1Y"}`), "#/expires_at") // has none
	is.Equal(v.pointer("POST", "/license/"+id+"/renew", `{"expires_at":"2029-01-29T00:00:00Z","extend":"updates"}`), "#/extend")
	is.Equal(v.pointer("POST", "/license/"+id+"/renew", `{"updates_until":"2030-01-29T00:00:00Z","duration":"P1Y"}`), "#/expires_at")

	// An export has it, an import brings it back, and null removes it.
	var export bytes.Buffer
	is.NoErr(v.h.Service().Export(t.Context(), &export, license.ListParams{}))
	is.True(strings.Contains(export.String(), `"updates_until":"2029-01-30T00:00:00Z"`))
	v.do("DELETE", "/license/"+id, "", 200)
	is.NoErr(v.h.Service().Import(t.Context(), &export, func(r license.ImportResult) error {
		is.Equal(r.Result, license.ImportCreated)
		return nil
	}))
	is.Equal(v.do("GET", "/license/"+id, "", 200)["updates_until"], "2029-01-30T00:00:00Z")
	_, present := v.do("PATCH", "/license/"+id, `{"updates_until":null}`, 200)["updates_until"]
	is.True(!present)
}

// TestProgramsWithoutUpdates: a build that is too new is refused with the date, online
// and from its file, and an older build with the same directory keeps running.
func TestProgramsWithoutUpdates(t *testing.T) {
	is := is.New(t)
	v := newVendor(t)
	until := time.Now().Add(-time.Hour).UTC().Truncate(time.Second)
	l, err := v.h.Service().Create(t.Context(), license.CreateParams{Name: "Ada", ProductID: "atlas", CustomerID: "ada", UpdatesUntil: &until, MaxActivations: new(int64(1))})
	is.NoErr(err)
	server := httptest.NewServer(v.h)
	defer server.Close()
	keys, err := v.h.Files().KeySet(t.Context())
	is.NoErr(err)
	jwks, err := json.Marshal(keys)
	is.NoErr(err)
	dir := t.TempDir()
	run := func(url string, built time.Time) program.Status {
		lic, err := program.Open(program.Options{URL: url, Keys: jwks, ProductID: "atlas", Key: l.Key, Dir: dir, Fingerprint: "pc", BuiltAt: built})
		is.NoErr(err)
		defer lic.Close()
		return lic.Status()
	}
	is.Equal(run(server.URL, until).Code, license.VerdictValid)
	for _, url := range []string{server.URL, ""} {
		s := run(url, until.Add(time.Minute))
		is.Equal(s.Code, license.VerdictUpdatesEnded)
		is.True(strings.Contains(s.Message(), until.Local().Format("2 January 2006")) && strings.Contains(s.Message(), "keep running"))
		is.Equal(run("", until).Code, license.VerdictValid)
	}
}
