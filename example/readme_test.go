package main

import (
	"context"
	"crypto/ed25519"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/auth/operator"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/client"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
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

// newShop returns a client for a service of yours, such as a web shop.
func newShop(url, clientID, clientSecret string) (*client.Client, error) {
	return client.New(client.Options{URL: url, ClientID: clientID, ClientSecret: clientSecret})
}

// sellOrder creates the license of an order. It can be repeated: the same order
// gets the same license.
func sellOrder(ctx context.Context, shop *client.Client, order, customerID string) (client.License, error) {
	return shop.Once(order).CreateLicense(ctx, client.CreateLicenseParams{
		Name: "Atlas Team", ProductID: "atlas", CustomerID: customerID,
	})
}

// consume handles the events after a cursor, and returns the next cursor.
func consume(ctx context.Context, c *client.Client, cursor string, handle func(client.Event) error) (string, error) {
	for page, err := range c.ListEvents(ctx, client.ListEventsParams{After: cursor}) {
		if err != nil {
			return cursor, err // client.CodeCursorGone: start again without a cursor
		}
		for _, e := range page.Data {
			if err := handle(e); err != nil {
				return cursor, err
			}
		}
		cursor = page.NextCursor
	}
	return cursor, nil
}

// openOffline runs from the license files in a directory. jwks is your public
// keys, which the program embeds with go:embed.
func openOffline(jwks []byte, id, dir string) (*client.Program, error) {
	keys, err := licensefile.ParseKeys(jwks)
	if err != nil {
		return nil, err
	}
	return client.Open(client.ProgramOptions{
		ProductID: "atlas", Fingerprint: id, Trust: keys, State: client.Dir(dir),
		Files: client.ReadFiles("/etc/atlas/license"), // for example a read-only mount
	})
}

// openTrusted asks the service, and believes only what the keys in jwks, which
// the program embeds with go:embed, have signed.
func openTrusted(jwks []byte, url, key, id, dir string) (*client.Program, error) {
	keys, err := licensefile.ParseKeys(jwks)
	if err != nil {
		return nil, err
	}
	return client.Open(client.ProgramOptions{
		URL: url, Key: key, ProductID: "atlas", Fingerprint: id,
		Trust: keys, State: client.Dir(dir), Offline: 14 * 24 * time.Hour,
	})
}

func createAdmin(ctx context.Context, h *licensing.Handler, email, password string) error {
	_, err := h.Operators().Create(ctx, operator.CreateParams{Email: email, Password: password, Role: operator.RoleAdmin})
	return err
}

func backup(ctx context.Context, st *sqlite.Store, folder string) error {
	return st.Backup(ctx, filepath.Join(folder, time.Now().UTC().Format("licenses-20060102T150405Z.db")))
}

// TestClientGuideFunctions calls the functions of the guide to the Go client.
func TestClientGuideFunctions(t *testing.T) {
	is := is.New(t)
	ctx := t.Context()
	h := licensing.NewHandler(memory.New(), licensing.Options{Logger: slog.New(slog.DiscardHandler)})
	api, secret, err := h.Auth().CreateClient(ctx, auth.CreateClientParams{Name: "Web shop", Scopes: auth.Scopes()})
	is.NoErr(err)
	service := httptest.NewServer(h)
	defer service.Close()
	shop, err := newShop(service.URL, api.ID, secret)
	is.NoErr(err)
	first, err := sellOrder(ctx, shop, "order-7", "cus_1")
	is.NoErr(err)
	again, err := sellOrder(ctx, shop, "order-7", "cus_1")
	is.NoErr(err)
	is.Equal(again.ID, first.ID)
	var types []string
	handle := func(e client.Event) error {
		if e.Subject == first.ID {
			types = append(types, e.Type)
		}
		return nil
	}
	cursor, err := consume(ctx, shop, "", handle)
	is.NoErr(err)
	_, err = consume(ctx, shop, cursor, handle)
	is.NoErr(err)
	is.Equal(types, []string{license.EventLicenseCreated})

	public, _, err := ed25519.GenerateKey(nil)
	is.NoErr(err)
	keys, err := licensefile.NewKeySet(public)
	is.NoErr(err)
	jwks, err := keys.MarshalJSON()
	is.NoErr(err)
	lic, err := openOffline(jwks, "pc-1", t.TempDir())
	is.NoErr(err)
	is.Equal(lic.Status().Code, client.CodeNoFile)
	is.NoErr(lic.Close())
	lic, err = openTrusted(jwks, "http://127.0.0.1:0", "", "pc-1", t.TempDir())
	is.NoErr(err)
	is.Equal(lic.Status().Code, client.CodeNoKey)
	is.NoErr(lic.Close())
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
