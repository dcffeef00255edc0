package dashboard_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// TestFormsReportAllErrorsTogether submits values that cannot be parsed together
// with values that the service rejects, and several invalid lines in one field.
func TestFormsReportAllErrorsTogether(t *testing.T) {
	s := newSite(t)
	v := s.admin()
	end := s.now.AddDate(0, 0, 10)
	l := s.license(api.CreateLicenseParams{Name: "Atlas", ExpiresAt: &end})
	edit := fields(v.get("licenses/" + l.ID + "/edit"))
	edit.Set("name", "")
	edit.Set("lease_seconds", "a while")
	setPairs(edit, "entitlements", "a", `"x`)
	setPairs(edit, "metadata", "b", "1", "", "c")
	for name, tt := range map[string]struct {
		answer reply
		says   []string
	}{
		"new license": {
			v.post("licenses/new", "name", "", "product_id", "atlas", "grace_seconds", "a while", "starts_at", "soon", "expires_at", "2026-01-01",
				"entitlements_name", "a", "entitlements_value", `"x`, "entitlements_name", "b", "entitlements_value", "", "entitlements_name", "", "entitlements_value", "3",
				"entitlements_name", strings.Repeat("x", 300), "entitlements_value", strings.Repeat("y", 999),
				"metadata_name", "a", "metadata_value", "1", "metadata_name", "b", "metadata_value", "2", "metadata_name", "a", "metadata_value", "3"),
			[]string{
				`f-name-error">Enter a value.`, `f-customer_id-error">Enter a value.`, `f-grace_seconds-error">Enter a whole number`, `f-starts_at-error">Enter a date`,
				`f-entitlements-error">Row 1: the quotation marks are not balanced.`, `Row 3: enter a name, or clear the value.`, `Each name must be`, `f-metadata-error">Row 3: the name is used twice.`,
			},
		},
		"edited license": {
			v.post("licenses/"+l.ID+"/edit", flat(edit)...),
			[]string{`f-name-error">Enter a value.`, `f-lease_seconds-error">Enter a whole number`, `f-entitlements-error">Row 1: the quotation`, `f-metadata-error">Row 2: enter a name`},
		},
		"credential": {
			v.post("settings/credentials/new", "products", "good\nbad\x02\nworse\x01"),
			[]string{`f-name-error">`, `f-scopes-error">Select`, "“bad\x02”", "“worse\x01”"},
		},
		"credential's products": {
			v.post("settings/credentials/new", "name", "Shop", "scopes", auth.ScopeLicenseRead, "products", strings.Repeat("x", 256)+"\ngood\n"+strings.Repeat("z", 256)),
			[]string{"xxx” ", "zzz” "},
		},
		"webhook": {
			v.post("settings/webhooks/new", "url", "nowhere", "description", "x"),
			[]string{`f-url-error">`, `f-types-error">Select at least one event`},
		},
		"renewal": {
			v.change("licenses/"+l.ID+"/renew", "term", "length", "duration", "a while", "reason", "a\x01"),
			[]string{`f-duration-error">Enter a whole number`, `f-reason-error">`},
		},
		"verdict": {
			v.get("licenses/" + l.ID + "?at=soon&fingerprint=%01"),
			[]string{`f-at-error">Enter a date`, `f-fingerprint-error">`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			is.Equal(tt.answer.StatusCode, http.StatusUnprocessableEntity)
			for _, text := range tt.says {
				if !tt.answer.says(text) {
					t.Errorf("the page does not contain %q", text)
				}
			}
		})
	}
	is := is.New(t)
	after, err := s.Service().Get(t.Context(), l.ID)
	is.NoErr(err)
	is.Equal(after, l)
	clients, err := s.Auth().ListClients(t.Context(), auth.ListClientsParams{})
	is.NoErr(err)
	is.Equal(len(clients.Data), 0)
}

func TestFormsLimitLineErrors(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	v := s.admin()
	var form []string
	for range 5000 {
		form = append(form, "metadata_name", "", "metadata_value", "x")
	}
	a := v.post("licenses/new", form...)
	is.Equal(a.StatusCode, http.StatusUnprocessableEntity)
	require.Contains(t, a.body, "Row 10: enter")
	require.NotContains(t, a.body, "Row 11: enter")
	require.Contains(t, a.body, "There are more errors like these.")
}

// TestPairs adds rows to a form without submitting it, and edits entitlements and
// metadata in rows.
func TestPairs(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	v := s.admin()
	form := fields(v.get("licenses/new"))
	is.Equal(form["entitlements_name"], []string{"", ""}) // blank rows
	form.Set("name", "Atlas")
	setPairs(form, "entitlements", "seats", "5", "sso", "")
	form.Set("more", "entitlements")
	a := v.post("licenses/new", flat(form)...)
	is.Equal(a.StatusCode, http.StatusOK)
	require.NotContains(t, a.body, `role="alert"`) // the form is not checked yet
	more := fields(a)
	is.Equal(more["entitlements_name"], []string{"seats", "sso", "", "", "", ""})
	is.Equal(more["entitlements_value"], []string{"5", "", "", "", "", ""})
	is.Equal(more["metadata_name"], []string{"", ""})
	is.Equal(more.Get("name"), "Atlas")
	is.Equal(more.Get("once"), form.Get("once"))
	licenses, err := s.Service().List(t.Context(), api.ListLicensesParams{})
	is.NoErr(err)
	is.Equal(len(licenses.Data), 0)

	entitlements := map[string]any{"yes": true, "n": 1.5, "text": "x", "number as text": "7", "word": "true", "quote": `"q"`, "json": "null"}
	metadata := map[string]string{"blank": "", "quote": `"q"`, "number": "7"}
	l := s.license(api.CreateLicenseParams{Name: "Atlas", Terms: api.Terms{Entitlements: entitlements}, Metadata: metadata})
	page := "licenses/" + l.ID + "/edit"
	edit := fields(v.get(page))
	edit.Set("more", "metadata")
	edit = fields(v.post(page, flat(edit)...)) // with the version of the license
	edit.Del("more")
	is.Equal(v.follow(v.post(page, flat(edit)...)).notice(), "Nothing was changed.")
	edit.Add("entitlements_name", "new")
	edit.Add("entitlements_value", "")
	edit.Add("metadata_name", "added")
	edit.Add("metadata_value", "later")
	is.Equal(v.follow(v.post(page, flat(edit)...)).notice(), "Your changes have been saved.")
	after, err := s.Service().Get(t.Context(), l.ID)
	is.NoErr(err)
	entitlements["new"] = true
	is.Equal(after.Entitlements, entitlements)
	metadata["added"] = "later"
	is.Equal(after.Metadata, metadata)

	stale := fields(v.get(page))
	_, err = s.Service().Update(t.Context(), api.UpdateLicenseParams{ID: l.ID, Name: new("Atlas 2")})
	is.NoErr(err)
	stale.Set("more", "metadata")
	stale = fields(v.post(page, flat(stale)...))
	stale.Del("more")
	is.Equal(v.post(page, flat(stale)...).StatusCode, http.StatusConflict) // more rows do not renew the version

	setPairs(edit, "entitlements", "bad", `"x`, "long", strings.Repeat("x", 256), "good", "1")
	edit.Set("version", v.get(page).hidden("version"))
	a = v.post(page, flat(edit)...)
	is.Equal(a.StatusCode, http.StatusUnprocessableEntity)
	for i, want := range []bool{true, true, false} { // rows with errors are marked
		is.Equal(a.says(fmt.Sprintf(`aria-label="Entitlement %d, name" aria-invalid="true"`, i+1)), want)
	}
}

func TestExistingKey(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	v := s.admin()
	form := []string{"name", "Atlas", "product_id", "atlas", "customer_id", "ada", "key", " OLD-system/0123456789 "}
	a := v.post("licenses/new", form...)
	is.Equal(a.StatusCode, http.StatusSeeOther)
	require.Contains(t, v.follow(a).body, "OLD-system/0123456789")
}

// A strictStore rejects queries with a NUL or invalid UTF-8, as PostgreSQL does.
type strictStore struct{ store.Store }

func (s strictStore) License(ctx context.Context, id string) (store.License, error) {
	return strictReader{s.Store}.License(ctx, id)
}

func (s strictStore) LicenseByKey(ctx context.Context, key string) (store.License, error) {
	return strictReader{s.Store}.LicenseByKey(ctx, key)
}

func (s strictStore) Licenses(ctx context.Context, q store.LicenseQuery) ([]store.License, error) {
	return strictReader{s.Store}.Licenses(ctx, q)
}

func (s strictStore) Events(ctx context.Context, q store.EventQuery) ([]store.Event, error) {
	return strictReader{s.Store}.Events(ctx, q)
}

func (s strictStore) Entry(ctx context.Context, kind, key string) (store.Entry, error) {
	return strictReader{s.Store}.Entry(ctx, kind, key)
}

func (s strictStore) Entries(ctx context.Context, q store.EntryQuery) ([]store.Entry, error) {
	return strictReader{s.Store}.Entries(ctx, q)
}

func (s strictStore) View(ctx context.Context, fn func(store.Reader) error) error {
	return s.Store.View(ctx, func(r store.Reader) error { return fn(strictReader{r}) })
}

func (s strictStore) Update(ctx context.Context, fn func(store.Tx) error) error {
	return s.Store.Update(ctx, func(tx store.Tx) error { return fn(strictTx{tx}) })
}

type strictReader struct{ store.Reader }

func (r strictReader) License(ctx context.Context, id string) (store.License, error) {
	if err := strict(id); err != nil {
		return store.License{}, err
	}
	return r.Reader.License(ctx, id)
}

func (r strictReader) Licenses(ctx context.Context, q store.LicenseQuery) ([]store.License, error) {
	if err := strict(fmt.Sprint(q)); err != nil {
		return nil, err
	}
	return r.Reader.Licenses(ctx, q)
}

func (r strictReader) Events(ctx context.Context, q store.EventQuery) ([]store.Event, error) {
	if err := strict(fmt.Sprint(q)); err != nil {
		return nil, err
	}
	return r.Reader.Events(ctx, q)
}

func (r strictReader) Entry(ctx context.Context, kind, key string) (store.Entry, error) {
	if err := strict(key); err != nil {
		return store.Entry{}, err
	}
	return r.Reader.Entry(ctx, kind, key)
}

func (r strictReader) Entries(ctx context.Context, q store.EntryQuery) ([]store.Entry, error) {
	if err := strict(fmt.Sprint(q)); err != nil {
		return nil, err
	}
	return r.Reader.Entries(ctx, q)
}

func (r strictReader) LicenseByKey(ctx context.Context, key string) (store.License, error) {
	if err := strict(key); err != nil {
		return store.License{}, err
	}
	return r.Reader.LicenseByKey(ctx, key)
}

type strictTx struct{ store.Tx }

func (tx strictTx) License(ctx context.Context, id string) (store.License, error) {
	return strictReader{tx.Tx}.License(ctx, id)
}

func (tx strictTx) LicenseByKey(ctx context.Context, key string) (store.License, error) {
	return strictReader{tx.Tx}.LicenseByKey(ctx, key)
}

func (tx strictTx) Entry(ctx context.Context, kind, key string) (store.Entry, error) {
	return strictReader{tx.Tx}.Entry(ctx, kind, key)
}

func (tx strictTx) DeleteEntries(ctx context.Context, kind string, keys ...string) error {
	for _, key := range keys {
		if err := strict(key); err != nil {
			return err
		}
	}
	return tx.Tx.DeleteEntries(ctx, kind, keys...)
}

func strict(s string) error {
	if !utf8.ValidString(s) || strings.Contains(s, "\x00") {
		return fmt.Errorf("the store cannot hold %q", s)
	}
	return nil
}

func TestInvalidTextIsClientError(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	s := newSiteOn(t, strictStore{memory.New()}, licensing.Options{})
	v := s.admin()
	l := s.license(api.CreateLicenseParams{Name: "n"})
	c, secret, err := s.Auth().CreateClient(t.Context(), auth.CreateClientParams{Name: "n", Scopes: auth.Scopes()})
	is.NoErr(err)
	resp, err := http.Get(s.base + "/oauth/token?client_id=" + c.ID + "&client_secret=" + secret)
	is.NoErr(err)
	var token struct {
		Value string `json:"access_token"`
	}
	is.NoErr(json.NewDecoder(resp.Body).Decode(&token))
	resp.Body.Close()

	fields := []string{"id", "name", "product_id", "customer_id", "key", "email", "role", "code", "password", "current", "once", "reason",
		"etag", "url", "types", "products", "scopes", "metadata_name", "metadata_value", "entitlements_name", "entitlements_value", "more", "theme", "return", "expires_at", "duration", "\x00"}
	for _, bad := range []string{"a\x00b", "a\xffb"} {
		for _, page := range []string{
			"theme", "sign-in", "setup", "join", "password", "licenses/new", "licenses/selected/suspend", "licenses/" + l.ID + "/edit", "licenses/" + l.ID + "/delete",
			"licenses/" + l.ID + "/renew", "licenses/" + l.ID + "/suspend", "settings/operators/new", "settings/operators/revoke",
			"settings/credentials/new", "settings/credentials/" + c.ID + "/edit", "settings/credentials/" + c.ID + "/rotate", "settings/webhooks/new",
		} {
			for _, field := range fields {
				got := v.post(page, field, bad)
				if got.StatusCode < 400 || got.StatusCode >= 500 {
					t.Errorf("%s with %s=%q: %d", page, field, bad, got.StatusCode)
				}
			}
		}
		escaped := strings.NewReplacer("\x00", "%00", "\xff", "%ff").Replace(bad)
		for _, page := range []string{
			"licenses/%s", "licenses/%s/edit", "licenses/%s/activations", "licenses/" + l.ID + "/%s", "licenses/" + l.ID + "/activations/%s/release",
			"settings/operators/%s", "settings/credentials/%s", "settings/credentials/" + c.ID + "/secrets/%s/revoke", "settings/webhooks/%s",
			"licenses?q=%s", "licenses?customer=%s", "licenses?cursor=%s", "licenses.csv?product=%s", "licenses/" + l.ID + "/activations?cursor=%s",
			"licenses/selected/suspend?id=%s", "customers?q=%s", "customers?after=%s", "products?q=%s", "audit?type=%s", "audit?subject=%s", "audit?customer=%s", "audit?after=%s",
			"settings/operators?after=%s", "settings/credentials?after=%s", "licenses?%s=x",
		} {
			got := v.get(strings.Replace(page, "%s", escaped, 1))
			if got.StatusCode < 400 || got.StatusCode >= 500 {
				t.Errorf("%s with %s: %d", page, escaped, got.StatusCode)
			}
		}
		inJSON := strings.ReplaceAll(bad, "\x00", `\u0000`)
		for _, request := range [][3]string{
			{"GET", "/license/%s"}, {"GET", "/license/%s/activation"}, {"DELETE", "/license/%s"}, {"DELETE", "/license/" + l.ID + "/activation/%s"},
			{"GET", "/license?customer_id=%s"}, {"GET", "/license?cursor=%s"}, {"GET", "/event?type=%s"}, {"GET", "/event?after=%s"},
			{"GET", "/webhook/%s"}, {"POST", "/webhook/%s/test"}, {"GET", "/webhook?cursor=%s"}, {"GET", "/export/license?product_id=%s"},
			{"PATCH", "/license?id=%s", `{"name":"m"}`}, {"PATCH", "/license", `{"id":"%s","name":"m"}`},
			{"PATCH", "/license", `{"product_id":"%s","customer_id":"c","name":"m"}`},
			{"POST", "/license", `{"name":"n","product_id":"p","customer_id":"c","key":"%s"}`},
			{"POST", "/license/" + l.ID + "/suspend", `{"reason":"%s"}`}, {"POST", "/license/activate", `{"key":"%s","fingerprint":"f"}`},
			{"POST", "/license/activation", `{"key":"%s"}`}, {"POST", "/webhook", `{"url":"https://%s.example"}`},
		} {
			target := s.base + strings.Replace(request[1], "%s", escaped, 1)
			req, err := http.NewRequestWithContext(t.Context(), request[0], target, strings.NewReader(strings.Replace(request[2], "%s", inJSON, 1)))
			is.NoErr(err)
			req.Header.Set("Authorization", "Bearer "+token.Value)
			if request[2] != "" {
				req.Header.Set("Content-Type", "application/json")
			}
			if got := v.do(req); got.StatusCode < 400 || got.StatusCode >= 500 {
				t.Errorf("%s with %q: %d %s", request, bad, got.StatusCode, got.body)
			}
		}
	}
	require.NotContains(t, s.log.String(), "cannot hold")
}
