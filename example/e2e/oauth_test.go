package e2e

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/matryer/is"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/store/sqlite"
)

// serve starts the service on SQLite under /licensing, and returns the address
// of the mount and credentials.
func serve(t *testing.T) (base string, client auth.Client, secret string) {
	is := is.New(t)
	st, err := sqlite.Open(filepath.Join(t.TempDir(), "licenses.db"))
	is.NoErr(err)
	t.Cleanup(func() { st.Close() })
	h := licensing.NewHandler(st, licensing.Options{})
	client, secret, err = h.Auth().CreateClient(t.Context(), auth.CreateClientParams{Name: "e2e"})
	is.NoErr(err)
	mux := http.NewServeMux()
	mux.Handle("/licensing/", http.StripPrefix("/licensing", h))
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL + "/licensing", client, secret
}

// TestOAuthClient drives every operation of the specification with the client
// credentials client of golang.org/x/oauth2, in each of its ways to send them.
func TestOAuthClient(t *testing.T) {
	for name, style := range map[string]oauth2.AuthStyle{
		"by its own choice": oauth2.AuthStyleAutoDetect,
		"in the header":     oauth2.AuthStyleInHeader,
		"in the body":       oauth2.AuthStyleInParams,
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			base, client, secret := serve(t)
			config := clientcredentials.Config{
				ClientID: client.ID, ClientSecret: secret, TokenURL: base + "/oauth/token",
				Scopes: []string{auth.ScopeLicenseRead, auth.ScopeLicenseWrite}, AuthStyle: style,
			}
			token, err := config.Token(t.Context())
			is.NoErr(err)
			is.True(token.Valid())
			is.Equal(token.Type(), "Bearer")

			c := config.Client(t.Context())
			status, made := call(t, c, "POST", base+"/license", `{"name":"n","product_id":"p","customer_id":"c"}`)
			is.Equal(status, http.StatusCreated)
			id, _ := made["id"].(string)

			status, got := call(t, c, "GET", base+"/license/"+id, "")
			is.Equal(status, http.StatusOK)
			is.Equal(got, made)

			status, list := call(t, c, "GET", base+"/license/c", "")
			is.Equal(status, http.StatusOK)
			is.Equal(list["data"], []any{made})

			status, changed := call(t, c, "PATCH", base+"/license", `{"name":"m","product_id":"p","customer_id":"c"}`)
			is.Equal(status, http.StatusOK)
			is.Equal(changed["id"], id)
			is.Equal(changed["name"], "m")

			status, gone := call(t, c, "DELETE", base+"/license/"+id, "")
			is.Equal(status, http.StatusOK)
			is.Equal(gone, map[string]any{"object": "license", "id": id, "deleted": true})
		})
	}
}

// TestOAuthClientRefused shows that the client can tell what was wrong.
func TestOAuthClientRefused(t *testing.T) {
	is := is.New(t)
	base, client, _ := serve(t)
	config := clientcredentials.Config{ClientID: client.ID, ClientSecret: "wrong", TokenURL: base + "/oauth/token"}
	_, err := config.Token(context.Background())
	refused, ok := err.(*oauth2.RetrieveError)
	is.True(ok)
	is.Equal(refused.ErrorCode, "invalid_client")
	is.Equal(refused.Response.StatusCode, http.StatusBadRequest) // of the second attempt, with the secret in the body
}

func call(t *testing.T, c *http.Client, method, target, body string) (int, map[string]any) {
	is := is.New(t)
	r, err := http.NewRequestWithContext(t.Context(), method, target, strings.NewReader(body))
	is.NoErr(err)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	resp, err := c.Do(r)
	is.NoErr(err)
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	is.NoErr(err)
	var answer map[string]any
	is.NoErr(json.Unmarshal(data, &answer))
	return resp.StatusCode, answer
}
