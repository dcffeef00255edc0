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
	"github.com/seed-d8a106b4/licensekit/internal/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

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
	is := is.New(t)
	s := newSiteOn(t, strictStore{memory.New()}, licensing.Options{})
	v := s.admin()
	l := s.license(license.CreateParams{Name: "n"})
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
