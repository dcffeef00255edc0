package clients

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth"
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
	for _, command := range []string{"node", "npm"} {
		if _, err := exec.LookPath(command); err != nil {
			t.Skipf("the clients need %s: %v", command, err)
		}
	}
	is := is.New(t)
	dir := t.TempDir()
	is.NoErr(os.CopyFS(dir, os.DirFS("testdata")))
	run(t, dir, nil, "npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error")

	base, client, secret := serve(t)
	env := []string{"BASE=" + base, "CLIENT_ID=" + client.ID, "CLIENT_SECRET=" + secret, "WRONG=" + strings.Repeat("x", len(secret))}
	for script, ways := range map[string]int{"simple-oauth2.js": 4, "oauth4webapi.js": 2, "openid-client.js": 2} {
		t.Run(strings.TrimSuffix(script, ".js"), func(t *testing.T) {
			is := is.New(t)
			var reports []report
			is.NoErr(json.Unmarshal(run(t, dir, env, "node", script), &reports))
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
	client, secret, err := h.Auth().CreateClient(t.Context(), auth.CreateClientParams{Name: "clients"})
	is.NoErr(err)
	return base, client, secret
}

// run returns what a command prints, and fails with what it complains about.
func run(t *testing.T, dir string, env []string, name string, args ...string) []byte {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	var complaint strings.Builder
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s%s", filepath.Base(name), strings.Join(args, " "), err, out, &complaint)
	}
	return out
}
