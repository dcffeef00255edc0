package servicetest

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// A streamReader reads a response line by line, and does something after the first one.
type streamReader struct {
	*httptest.ResponseRecorder
	then func()
}

func (w *streamReader) Write(p []byte) (int, error) {
	n, err := w.ResponseRecorder.Write(p)
	if then := w.then; then != nil && len(p) > 0 {
		w.then = nil
		then()
	}
	return n, err
}

// stream sends a request of a Stream and calls then after the first line of the
// response. It reports whether the response was cut.
func (c *caller) stream(method, target string, body io.Reader, token string, then func()) (w *streamReader, isCut bool) {
	c.t.Helper()
	r := httptest.NewRequestWithContext(c.t.Context(), method, target, body)
	r.Header.Set("Authorization", "Bearer "+token)
	if body != nil {
		r.Header.Set("Content-Type", "application/x-ndjson")
	}
	w = &streamReader{httptest.NewRecorder(), then}
	defer func() {
		if v := recover(); v != nil {
			if v != http.ErrAbortHandler {
				panic(v)
			}
			isCut = true
		}
	}()
	c.mount.ServeHTTP(w, r)
	return w, isCut
}

// linesToImport returns the lines of an import of n licenses of a customer.
func linesToImport(product, customer string, n int) string {
	var lines strings.Builder
	for i := range n {
		fmt.Fprintf(&lines, `{"name":"n","product_id":%q,"customer_id":%q,"key":"THE-KEY-OF-%s-%06d"}`+"\n", product, customer, customer, i)
	}
	return lines.String()
}

func (c *caller) importLicenses(product, customer string, n int) {
	c.t.Helper()
	is.New(c.t).NoErr(c.Handler.Service().Import(c.t.Context(), strings.NewReader(linesToImport(product, customer, n)), func(result api.RowResult) error {
		is.New(c.t).Equal(result.Result, api.ImportCreated)
		return nil
	}))
}

// TestStreamsAreAuthorizedAgain: an export and an import are cut when their client may
// no longer make them, as this process or another one has decided.
func TestStreamsAreAuthorizedAgain(t *testing.T) {
	update := func(p auth.UpdateClientParams) func(*caller, *licensing.Handler, auth.Client, string, string) error {
		return func(c *caller, h *licensing.Handler, client auth.Client, _, _ string) error {
			p.ID = client.ID
			_, err := h.Auth().UpdateClient(c.t.Context(), p)
			return err
		}
	}
	for name, end := range map[string]func(c *caller, h *licensing.Handler, client auth.Client, secret, token string) error{
		"disabled":  update(auth.UpdateClientParams{Disabled: new(true)}),
		"no scope":  update(auth.UpdateClientParams{Scopes: &[]string{auth.ScopeEventRead}}),
		"a product": update(auth.UpdateClientParams{Products: &[]string{"p"}}),
		"deleted": func(c *caller, h *licensing.Handler, client auth.Client, _, _ string) error {
			return h.Auth().DeleteClient(c.t.Context(), client.ID)
		},
		"revoked": func(c *caller, h *licensing.Handler, client auth.Client, secret, token string) error {
			form := url.Values{"token": {token}, "client_id": {client.ID}, "client_secret": {secret}}
			r := httptest.NewRequestWithContext(c.t.Context(), "POST", "/oauth/revoke", strings.NewReader(form.Encode()))
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			is.New(c.t).Equal(w.Code, http.StatusOK)
			return nil
		},
	} {
		for _, process := range []string{"this process", "another process"} {
			t.Run(name+" in "+process, func(t *testing.T) {
				is := is.New(t)
				c := newCaller(t, licensing.Options{})
				h, wait := c.Handler, time.Duration(0)
				if process != "this process" {
					h, wait = c.elsewhere(licensing.Options{}).mount.(*licensing.Handler), time.Second // for which a token is cached
				}
				newClient := func() (token string, then func()) {
					client, secret := c.NewClient(auth.CreateClientParams{
						Name: "shop", Scopes: []string{auth.ScopeLicenseRead, auth.ScopeLicenseWrite, auth.ScopeEventRead}, Products: []string{"p", "q"},
					})
					token, _ = c.NewToken(client.ID, secret)
					return token, func() {
						is.NoErr(end(c, h, client, secret, token))
						c.Clock.Advance(wait)
					}
				}
				c.importLicenses("p", "c", 300)

				token, then := newClient()
				w, cut := c.stream("GET", "/export/license", nil, token, then)
				is.True(cut)
				is.Equal(strings.Count(w.Body.String(), "\n"), 1)

				token, then = newClient()
				w, cut = c.stream("POST", "/import/license", strings.NewReader(linesToImport("p", "new", 150)), token, then)
				is.True(cut)
				is.Equal(strings.Count(w.Body.String(), "\n"), 1)
				created, err := c.Handler.Service().Count(t.Context(), api.ListLicensesParams{CustomerID: "new"})
				is.NoErr(err)
				is.Equal(created.Total, int64(100)) // the batch whose first line was reported

				token, then = newClient()
				body := &slowBody{Reader: strings.NewReader(linesToImport("p", "late", 5)), then: then}
				w, cut = c.stream("POST", "/import/license", body, token, nil)
				is.True(!cut)
				is.True(w.Code == http.StatusUnauthorized || w.Code == http.StatusForbidden)
				created, err = c.Handler.Service().Count(t.Context(), api.ListLicensesParams{CustomerID: "late"})
				is.NoErr(err)
				is.Equal(created.Total, int64(0))
			})
		}
	}
}

// TestStreamsContinue: a stream is not cut when its client gets more products.
func TestStreamsContinue(t *testing.T) {
	is := is.New(t)
	c := newCaller(t, licensing.Options{})
	c.importLicenses("p", "c", 300)
	for _, products := range [][]string{{"p", "q"}, nil} {
		client, secret := c.NewClient(auth.CreateClientParams{Name: "shop", Scopes: []string{auth.ScopeLicenseRead}, Products: []string{"p"}})
		token, _ := c.NewToken(client.ID, secret)
		w, cut := c.stream("GET", "/export/license", nil, token, func() {
			_, err := c.Handler.Auth().UpdateClient(t.Context(), auth.UpdateClientParams{ID: client.ID, Name: new("renamed"), Products: &products})
			is.NoErr(err)
		})
		is.True(!cut)
		is.Equal(strings.Count(w.Body.String(), "\n"), 300)
	}
}

// A slowBody does something before its last byte.
type slowBody struct {
	io.Reader
	then func()
}

func (b *slowBody) Read(p []byte) (int, error) {
	if b.then != nil {
		b.then()
		b.then = nil
	}
	return b.Reader.Read(p)
}
