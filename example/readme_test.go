package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"path/filepath"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/auth/operator"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store/memory"
	"github.com/seed-d8a106b4/licensekit/store/sqlite"
)

// The functions below are in the guides, word for word.

// createClient returns the credentials of a new API client. The store keeps
// only a digest of the secret, so this is the one time it is available.
func createClient(ctx context.Context, h *licensing.Handler) (id, secret string, err error) {
	client, secret, err := h.Auth().CreateClient(ctx, auth.CreateClientParams{Name: "Web shop"})
	return client.ID, secret, err
}

// sell creates a license, as POST /license does.
func sell(ctx context.Context, h *licensing.Handler, customerID string) (license.License, error) {
	return h.Service().Create(ctx, license.CreateParams{Name: "Atlas Team", ProductID: "atlas", CustomerID: customerID})
}

func createAdmin(ctx context.Context, h *licensing.Handler, email, password string) error {
	_, err := h.Operators().Create(ctx, operator.CreateParams{Email: email, Password: password, Role: operator.RoleAdmin})
	return err
}

// clientIP trusts X-Real-IP in requests from a proxy on this machine only.
func clientIP(r *http.Request) netip.Addr {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{} // unknown
	}
	if peer.Addr().Unmap().IsLoopback() {
		if forwarded, err := netip.ParseAddr(r.Header.Get("X-Real-IP")); err == nil {
			return forwarded
		}
	}
	return peer.Addr().Unmap()
}

func backup(ctx context.Context, st *sqlite.Store, folder string) error {
	return st.Backup(ctx, filepath.Join(folder, time.Now().UTC().Format("licenses-20060102T150405Z.db")))
}

// TestGuideFunctions calls the functions of the guides.
func TestGuideFunctions(t *testing.T) {
	is := is.New(t)
	h := licensing.NewHandler(memory.New(), licensing.Options{ClientIP: clientIP})
	id, secret, err := createClient(t.Context(), h)
	is.NoErr(err)
	lic, err := sell(t.Context(), h, "cus_1")
	is.NoErr(err)
	is.Equal(lic.CustomerID, "cus_1")
	is.NoErr(createAdmin(t.Context(), h, "ada@example.com", "the ferry leaves before breakfast"))

	r := httptest.NewRequest("GET", "/oauth/token", nil)
	r.SetBasicAuth(id, secret)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	is.Equal(w.Code, http.StatusOK)

	for _, tt := range []struct{ peer, header, want string }{
		{"127.0.0.1:999", "203.0.113.7", "203.0.113.7"},
		{"[::ffff:127.0.0.1]:999", "203.0.113.7", "203.0.113.7"},
		{"127.0.0.1:999", "", "127.0.0.1"},
		{"198.51.100.2:999", "203.0.113.7", "198.51.100.2"}, // not from the proxy
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr = tt.peer
		r.Header.Set("X-Real-IP", tt.header)
		is.Equal(clientIP(r).String(), tt.want)
	}
}
