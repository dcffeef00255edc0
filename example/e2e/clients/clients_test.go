package clients

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/example/e2e/internal/node"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// A report is what a script saw with one way to authenticate.
type report struct {
	Scope, Type   string
	Active        *bool // by introspection, where the client has it
	Before, After int   // the status of a request with the token, before and after its revocation
	Refusal       string
}

// TestClientsOfNode gets, uses, introspects and revokes a token with each
// client, in each of its ways to send the credentials, and sees that each can
// tell what is wrong with a wrong secret.
func TestClientsOfNode(t *testing.T) {
	is := is.New(t)
	dir := node.Install(t, "testdata/oauth")

	base, client, secret := serve(t)
	env := []string{"BASE=" + base, "CLIENT_ID=" + client.ID, "CLIENT_SECRET=" + secret, "WRONG=" + strings.Repeat("x", len(secret))}
	for script, ways := range map[string]int{"simple-oauth2.js": 4, "oauth4webapi.js": 2, "openid-client.js": 2} {
		t.Run(strings.TrimSuffix(script, ".js"), func(t *testing.T) {
			is := is.New(t)
			var reports []report
			is.NoErr(json.Unmarshal(node.Run(t, node.Command{Dir: dir, Env: env}, "node", script), &reports))
			is.Equal(len(reports), ways)
			for _, r := range reports {
				is.Equal(r.Scope, "license:read")
				is.Equal(strings.ToLower(r.Type), "bearer")
				is.Equal(r.Before, http.StatusOK)
				is.Equal(r.After, http.StatusUnauthorized)
				is.Equal(r.Refusal, "invalid_client")
				if script != "simple-oauth2.js" {
					is.True(r.Active != nil && *r.Active)
				}
			}
		})
	}
}

// serve starts a host whose mount is not at its root, and which has the
// metadata at its own, where clients look for it.
func serve(t *testing.T) (base string, client auth.Client, secret string) {
	is := is.New(t)
	server := httptest.NewUnstartedServer(nil)
	base = "http://" + server.Listener.Addr().String() + "/licensing"
	h := licensing.NewHandler(memory.New(), licensing.Options{PublicURL: base, Logger: slog.New(slog.DiscardHandler)})
	mux := http.NewServeMux()
	mux.Handle("/licensing/", http.StripPrefix("/licensing", h))
	mux.Handle("/.well-known/oauth-authorization-server/licensing", h.Metadata())
	server.Config.Handler = mux
	server.Start()
	t.Cleanup(server.Close)
	client, secret, err := h.Auth().CreateClient(t.Context(), auth.CreateClientParams{Name: "clients", Scopes: []string{auth.ScopeLicenseRead, auth.ScopeLicenseWrite, auth.ScopeEventRead}})
	is.NoErr(err)
	return base, client, secret
}
