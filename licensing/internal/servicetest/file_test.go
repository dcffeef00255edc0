package servicetest

import (
	"crypto"
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/files"
	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
	"github.com/seed-d8a106b4/licensekit/store/sqlite"
)

func TestFileKeysArePublished(t *testing.T) {
	is := is.New(t)
	c := newCaller(t, licensing.Options{})
	keys := func(header ...string) (answer, []string) {
		t.Helper()
		a := c.do("GET", "/file/keys", "", append([]string{"Authorization", ""}, header...)...)
		if a.Code != http.StatusOK {
			return a, nil
		}
		set, err := licensefile.ParseKeys(a.Body.Bytes())
		is.NoErr(err)
		return a, set.IDs()
	}
	first, ids := keys()
	is.Equal(len(ids), 2)
	is.Equal(first.Header().Get("Content-Type"), "application/json")
	is.Equal(first.Header().Get("Cache-Control"), "public, max-age=300")
	require.NotContains(t, first.Body.String(), `"d"`)
	etag := first.Header().Get("ETag")
	for _, tags := range []string{etag, "W/" + etag, `"1.active", ` + etag, "*"} {
		a, _ := keys("If-None-Match", tags)
		is.Equal(a.Code, http.StatusNotModified)
		is.Equal(a.Body.Len(), 0)
		is.Equal(a.Header().Get("ETag"), etag)
	}
	head := c.do("HEAD", "/file/keys", "")
	is.Equal(head.Code, http.StatusOK)
	is.Equal(head.Header().Get("ETag"), etag)
	is.Equal(head.Body.Len(), 0)

	_, err := c.Handler.Files().RotateKey(t.Context(), files.RotateKeyParams{Force: true})
	is.NoErr(err)
	_, rotated := keys("If-None-Match", etag)
	is.Equal(rotated[:2], ids)
	is.Equal(len(rotated), 3)
	_, err = c.Handler.Files().CondemnKey(t.Context(), files.CondemnKeyParams{ID: ids[0]})
	is.NoErr(err)
	_, condemned := keys()
	is.Equal(condemned, rotated[1:])

	a := c.do("GET", "/event?type=signing_key.*", "")
	is.Equal(a.Code, http.StatusOK)
	var types []string
	for _, e := range a.json["data"].([]any) {
		types = append(types, e.(map[string]any)["type"].(string))
	}
	is.Equal(types, []string{api.EventSigningKeyCreated, api.EventSigningKeyCreated, api.EventSigningKeyRotated, api.EventSigningKeyCreated, api.EventSigningKeyCompromised})
	for _, eventType := range append(types, api.EventSigningKeyRetired) {
		require.Includes(t, api.EventTypes(), eventType)
	}
}

func TestSigningKeysOfTheHost(t *testing.T) {
	is := is.New(t)
	_, private, err := ed25519.GenerateKey(rand.Reader)
	is.NoErr(err)
	c := newCaller(t, licensing.Options{SigningKeys: []files.SigningKey{{Signer: private}}})
	want, err := licensefile.KeyID(private.Public())
	is.NoErr(err)
	set, err := licensefile.ParseKeys(c.do("GET", "/file/keys", "").Body.Bytes())
	is.NoErr(err)
	is.Equal(set.IDs(), []string{want})

	err = licensing.Options{SigningKeys: []files.SigningKey{{ID: "wrong", Signer: private}}}.Validate()
	require.ErrorIs(t, err, api.ErrInvalid)
	is.Equal(err.Error(), "Options.SigningKeys[0] has the ID wrong, but the key of its Signer has the ID "+want)
}

func TestIssuedFilesVerify(t *testing.T) {
	is := is.New(t)
	c := newCaller(t, licensing.Options{FileIssuer: "https://example.com", MaxOffline: 10 * 24 * time.Hour})
	keys, err := licensefile.ParseKeys(c.do("GET", "/file/keys", "").Body.Bytes())
	is.NoErr(err)
	l := c.do("POST", "/license", `{"name":"n","product_id":"atlas","customer_id":"c","max_activations":1,"entitlements":{"file":"","export":true}}`)
	is.Equal(l.Code, http.StatusUnprocessableEntity) // an entitlement is not empty
	l = c.do("POST", "/license", `{"name":"n","product_id":"atlas","customer_id":"c","max_activations":1,"entitlements":{"export":true},"metadata":{"file":""}}`)
	id, key := l.json["id"].(string), l.json["key"].(string)

	verify := func(a answer, nonce string) licensefile.File {
		t.Helper()
		is.Equal(a.Code, http.StatusOK)
		text, ok := a.json["file"].(string)
		is.True(ok)
		f, err := keys.Verify(text)
		is.NoErr(err)
		is.NoErr(f.Check(licensefile.Expect{ProductID: "atlas", Fingerprint: "host-1", Nonce: nonce, Now: c.Clock.Now()}))
		is.Equal(f.Issuer, "https://example.com")
		is.Equal(f.LicenseID, id)
		is.Equal(f.Entitlements, map[string]any{"export": true})
		return f
	}
	activated := c.do("POST", "/license/activate", `{"key":"`+key+`","fingerprint":"host-1","file":"P14D","nonce":"n-1"}`, "Authorization", "")
	f := verify(activated, "n-1")
	require.AtMost(t, f.ExpiresAt.Sub(f.IssuedAt), 10*24*time.Hour)
	verify(c.do("POST", "/license/validate", `{"key":"`+key+`","fingerprint":"host-1","file":"P14D","nonce":"n-2"}`, "Authorization", ""), "n-2")
	verify(c.do("POST", "/license/file", `{"key":"`+key+`","fingerprint":"host-1","nonce":"n-3"}`, "Authorization", ""), "n-3")

	// A repeated request gets the same file, also after a rotation.
	first := c.do("POST", "/license/"+id+"/file", `{"fingerprint":"host-1","lifetime":"P1Y"}`, "Idempotency-Key", "once")
	issued := verify(first, "")
	again := c.do("POST", "/license/"+id+"/file", `{"fingerprint":"host-1","lifetime":"P1Y"}`, "Idempotency-Key", "once")
	is.Equal(again.Body.String(), first.Body.String())
	_, err = c.Handler.Files().RotateKey(t.Context(), files.RotateKeyParams{Force: true})
	is.NoErr(err)
	rotated := verify(c.do("POST", "/license/"+id+"/file", `{"fingerprint":"host-1","lifetime":"P1Y"}`, "Idempotency-Key", "once"), "")
	is.True(rotated.KeyID != issued.KeyID)
	is.Equal(rotated.ID, issued.ID)

	// The list names the license once it is suspended.
	list := func() *licensefile.Revocations {
		t.Helper()
		a := c.do("GET", "/file/revocations?product_id=atlas", "", "Authorization", "")
		is.Equal(a.Code, http.StatusOK)
		list, err := keys.VerifyRevocations(a.Body.String())
		is.NoErr(err)
		is.NoErr(list.Check("atlas", c.Clock.Now()))
		return &list
	}
	want := licensefile.Expect{ProductID: "atlas", Fingerprint: "host-1", Now: c.Clock.Now(), Revocations: list()}
	is.NoErr(issued.Check(want))
	is.Equal(c.do("POST", "/license/"+id+"/suspend", "").Code, http.StatusOK)
	_, err = c.Handler.Files().CondemnKey(t.Context(), files.CondemnKeyParams{ID: issued.KeyID}) // the list is made again
	is.NoErr(err)
	before := want.Revocations
	want.Revocations = list()
	require.Greater(t, want.Revocations.Sequence, before.Sequence)
	is.Equal(want.Revocations.CondemnedKeys, []string{issued.KeyID})
	require.ErrorIs(t, rotated.Check(want), licensefile.ErrRevoked)
}

// TestVoidFiles: the files that were issued are refused, new ones are not.
func TestVoidFiles(t *testing.T) {
	is := is.New(t)
	c := newCaller(t, licensing.Options{})
	keys, err := licensefile.ParseKeys(c.do("GET", "/file/keys", "").Body.Bytes())
	is.NoErr(err)
	id := c.create("n", "atlas", "c")
	path := "/license/" + id + "/file"
	check := func(a answer) error {
		t.Helper()
		is.Equal(a.Code, http.StatusOK)
		f, err := keys.Verify(a.json["file"].(string))
		is.NoErr(err)
		list, err := keys.VerifyRevocations(c.do("GET", "/file/revocations?product_id=atlas", "", "Authorization", "").Body.String())
		is.NoErr(err)
		return f.Check(licensefile.Expect{ProductID: "atlas", Now: c.Clock.Now(), Revocations: &list})
	}
	issued := c.do("POST", path, "")
	reader, secret := c.NewClient(auth.CreateClientParams{Name: "reader", Scopes: []string{auth.ScopeLicenseRead}})
	is.Equal(c.do("POST", path+"/void", "", "Authorization", "Bearer "+token(c, reader, secret)).Code, http.StatusForbidden)
	is.Equal(c.do("POST", path+"/void", "", "If-Match", `"9.active"`).Code, http.StatusPreconditionFailed)
	first := c.do("POST", path+"/void", `{"reason":"laptop stolen"}`, "Idempotency-Key", "void")
	is.Equal(first.Code, http.StatusOK)
	is.Equal(first.json["generation"], 2.0)
	is.Equal(first.json["status_reason"], nil) // the reason is in the event
	again := c.do("POST", path+"/void", `{"reason":"laptop stolen"}`, "Idempotency-Key", "void")
	is.Equal(again.Body.String(), first.Body.String())
	is.Equal(again.Header().Get("Idempotency-Replayed"), "true")
	events := c.Events()
	e := events[len(events)-1]
	is.Equal(e.Type, api.EventFilesVoided)
	require.Contains(t, string(e.Data), `"reason":"laptop stolen"`)

	c.Clock.Advance(10 * time.Minute) // the list is made again
	require.ErrorIs(t, check(issued), licensefile.ErrOldGeneration)
	is.NoErr(check(c.do("POST", path, "")))
}

// TestFailedSigningLeavesTheHold, never a file without one.
func TestFailedSigningLeavesTheHold(t *testing.T) {
	is := is.New(t)
	signer := &failingSigner{PrivateKey: ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))}
	c := newCaller(t, licensing.Options{SigningKeys: []files.SigningKey{{Signer: signer}}, Logger: slog.New(slog.DiscardHandler)})
	l := c.do("POST", "/license", `{"name":"n","product_id":"atlas","customer_id":"c","max_activations":1}`)
	id := l.json["id"].(string)
	signer.before = func() {
		page, err := c.Handler.Service().ListActivations(t.Context(), api.ListActivationsParams{LicenseID: id})
		is.NoErr(err)
		is.True(page.Data[0].HeldUntil != nil) // committed before the signature
	}
	signer.fails = true
	a := c.do("POST", "/license/"+id+"/file", `{"fingerprint":"host-1"}`, "Idempotency-Key", "once")
	is.Equal(a.Code, http.StatusInternalServerError)
	is.Equal(signer.calls, 1)
	signer.fails = false
	a = c.do("POST", "/license/"+id+"/file", `{"fingerprint":"host-1"}`, "Idempotency-Key", "once")
	is.Equal(a.Code, http.StatusOK)
	is.Equal(a.Header().Get("Idempotency-Replayed"), "true")
	is.True(a.json["file"] != nil)
}

type failingSigner struct {
	ed25519.PrivateKey
	before func()
	fails  bool
	calls  int
}

func (s *failingSigner) Sign(random io.Reader, digest []byte, opts crypto.SignerOpts) ([]byte, error) {
	s.calls++
	s.before()
	if s.fails {
		return nil, errors.New("the HSM is gone")
	}
	return s.PrivateKey.Sign(random, digest, opts)
}

// BenchmarkFile compares a validation with one that issues a file.
func BenchmarkFile(b *testing.B) {
	st, err := sqlite.Open(filepath.Join(b.TempDir(), "licenses.db"))
	if err != nil {
		b.Fatal(err)
	}
	defer st.Close()
	h := licensing.NewHandler(st, licensing.Options{
		Limits: licensing.LimitOptions{AddressRate: -1, KeyRate: -1}, Logger: slog.New(slog.DiscardHandler),
	})
	l, err := h.Service().Create(b.Context(), api.CreateLicenseParams{Name: "n", ProductID: "atlas", CustomerID: "c", Terms: api.Terms{MaxActivations: new(int64(1))}})
	if err != nil {
		b.Fatal(err)
	}
	if _, err := h.Service().Activate(b.Context(), api.ActivateKeyParams{Key: l.Key, Fingerprint: "host-1", File: api.Duration{Days: 14}}); err != nil {
		b.Fatal(err)
	}
	body := `{"key":"` + l.Key + `","fingerprint":"host-1"`
	for _, c := range []struct{ name, body string }{{"without", body + "}"}, {"with", body + `,"file":"P14D"}`}} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				r := httptest.NewRequestWithContext(b.Context(), "POST", "/license/validate", strings.NewReader(c.body))
				r.Header.Set("Content-Type", "application/json")
				w := httptest.NewRecorder()
				h.ServeHTTP(w, r)
				if w.Code != http.StatusOK {
					b.Fatal(w.Body)
				}
			}
		})
	}
}
