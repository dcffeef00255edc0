package main

import (
	"context"
	"net/http"
	"net/http/httptest"
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

func backup(ctx context.Context, st *sqlite.Store, folder string) error {
	return st.Backup(ctx, filepath.Join(folder, time.Now().UTC().Format("licenses-20060102T150405Z.db")))
}

// TestGuideFunctions calls the functions of the guides.
func TestGuideFunctions(t *testing.T) {
	is := is.New(t)
	h := licensing.NewHandler(memory.New(), licensing.Options{})
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
}
