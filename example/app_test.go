package main

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
)

// TestUncleanPaths asks with a secret in the query for paths that a ServeMux
// alone would redirect, query and all.
func TestUncleanPaths(t *testing.T) {
	ex := start(t)
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	root := strings.TrimSuffix(ex.field("application"), "/")
	for path, want := range map[string]int{
		"//licensing/oauth/token":           http.StatusNotFound,
		"/licensing//oauth/token":           http.StatusNotFound,
		"/licensing/./oauth/token":          http.StatusNotFound,
		"/licensing/%2e%2e/licensing/oauth": http.StatusNotFound,
		"/other/../licensing/oauth/token":   http.StatusNotFound,
		"/licensing/oauth/token/":           http.StatusNotFound,
		"/licensing/oauth/token/..%2ftoken": http.StatusNotFound,
		"/nothing":                          http.StatusNotFound,
		"/licensing":                        http.StatusSeeOther,
		"/licensing/oauth/token":            http.StatusUnauthorized,
	} {
		t.Run(path, func(t *testing.T) {
			is := is.New(t)
			resp, err := client.Get(root + path + "?client_id=cid_x&client_secret=do-not-repeat")
			is.NoErr(err)
			defer resp.Body.Close()
			body, err := io.ReadAll(resp.Body)
			is.NoErr(err)
			is.Equal(resp.StatusCode, want)
			require.NotContains(t, string(body), "do-not-repeat")
			require.NotContains(t, resp.Header.Get("Location"), "do-not-repeat")
		})
	}
}

// TestHomePage shows names from outside as text.
func TestHomePage(t *testing.T) {
	is := is.New(t)
	ex := start(t)
	createLicense(t, ex, "<script>")
	resp, err := http.Get(ex.field("application"))
	is.NoErr(err)
	body, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	is.NoErr(err)
	is.Equal(resp.StatusCode, http.StatusOK)
	is.Equal(resp.Header.Get("Content-Type"), "text/html; charset=utf-8")
	is.Equal(strings.Count(string(body), "<tr><td>"), 10)        // the newest ten
	require.Contains(t, string(body), "<td>&lt;script&gt;</td>") // escaped
}

// TestPublicURL shows that the service knows where the world finds it.
func TestPublicURL(t *testing.T) {
	is := is.New(t)
	ex := start(t)
	endpoint, err := url.JoinPath(ex.field("base address"), "oauth/token")
	is.NoErr(err)
	for _, place := range []string{
		ex.field("base address") + "/.well-known/oauth-authorization-server",
		ex.field("application") + ".well-known/oauth-authorization-server/licensing", // for an issuer with a path
	} {
		resp, err := http.Get(place)
		is.NoErr(err)
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		is.NoErr(err)
		is.Equal(resp.StatusCode, http.StatusOK)
		require.Contains(t, string(body), `"token_endpoint":"`+endpoint+`"`)
	}
}
