package main

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/auth/operator"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/client"
	"github.com/seed-d8a106b4/licensekit/licensing/program"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
	"github.com/seed-d8a106b4/licensekit/store/sqlite"
)

// The functions below are in the guides, word for word.

// mount adds the service to your application; st is a store such as sqlite.Open("licenses.db").
func mount(ctx context.Context, mux *http.ServeMux, st store.Store, pages licensing.Portal) {
	h := licensing.NewHandler(st, licensing.Options{})
	mux.Handle("/licensing/", http.StripPrefix("/licensing", h))
	go h.Run(ctx)
	mux.Handle("/account/licenses/", http.StripPrefix("/account/licenses", h.Portal(pages))) // optional: for your customers
}

// createClient returns the credentials of a new API client. The store keeps
// only a digest of the secret, so this is the one time it is available.
func createClient(ctx context.Context, h *licensing.Handler) (id, secret string, err error) {
	client, secret, err := h.Auth().CreateClient(ctx, auth.CreateClientParams{Name: "Web shop"})
	return client.ID, secret, err
}

// sell creates a license, as POST /license does.
func sell(ctx context.Context, h *licensing.Handler, customerID string) (api.License, error) {
	return h.Service().Create(ctx, api.CreateLicenseParams{Name: "Atlas Team", ProductID: "atlas", CustomerID: customerID})
}

// newShop returns a client for a service of yours, such as a web shop.
func newShop(url, clientID, clientSecret string) (*client.Client, error) {
	return client.New(client.Options{URL: url, ClientID: clientID, ClientSecret: clientSecret})
}

// sellOrder creates the license of an order. It can be repeated: the same order
// gets the same license.
func sellOrder(ctx context.Context, shop *client.Client, order, customerID string) (*api.License, error) {
	sold, err := shop.RecordPurchase(ctx, api.RecordPurchaseParams{
		Reference: "shop:" + order, At: time.Now(), CustomerID: customerID, PlanID: "atlas-team", State: api.PurchaseActive,
	})
	return sold.License, err
}

// consume handles the events after a cursor, and returns the next cursor.
func consume(ctx context.Context, c *client.Client, cursor string, handle func(api.Event) error) (string, error) {
	for page, err := range c.ListEvents(ctx, api.ListEventsParams{After: cursor}) {
		if err != nil {
			return cursor, err // api.CodeCursorGone: start again without a cursor
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

func canExport(keys []byte, key string) (bool, error) { // the program embeds keys, your public keys
	lic, err := program.Open(program.Options{URL: "https://acme.example/licensing", Keys: keys, ProductID: "atlas", Key: key})
	if err != nil {
		return false, err // an option is wrong
	}
	defer lic.Close()
	return lic.Has("export"), nil
}

// openLicense opens the license of this installation. The program embeds the keys
// with go:embed.
func openLicense(keys []byte) (*program.License, error) {
	return program.Open(program.Options{
		URL: "https://acme.example/licensing", Keys: keys, ProductID: "atlas", Key: os.Getenv("ATLAS_KEY"),
	})
}

// openProcess takes a seat for this process; Close releases it.
func openProcess(keys []byte, key string) (*program.License, error) {
	return program.Open(program.Options{
		URL: "https://acme.example/licensing", Keys: keys, ProductID: "atlas", Key: key, PerProcess: true,
	})
}

func behindProxy(keys []byte, key string, proxy *url.URL) (*program.License, error) { // proxy may have a name and a password
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.Proxy = http.ProxyURL(proxy)
	return program.Open(program.Options{
		URL: "https://acme.example/licensing", Keys: keys, ProductID: "atlas", Key: key, HTTPClient: &http.Client{Transport: transport},
	})
}

// activateInBrowser shows where the customer activates this installation, and waits.
func activateInBrowser(ctx context.Context, lic *program.License, show func(url, code string)) error {
	link, err := lic.Link(ctx)
	if err != nil {
		return err // for the user; not_configured: offer to enter a key
	}
	show(link.URL, link.Code) // open a browser
	return link.Wait(ctx)     // up to 10 minutes; afterwards, lic.Status() is that of the license
}

// subscriber calls handle with each event about a license. After an error, the event
// is retried, and later ones wait.
func subscriber(handle func(context.Context, api.Event) error) licensing.Subscriber {
	return licensing.Subscriber{Name: "crm", Types: []string{"license.*"}, MaxAttempts: 10, Handle: handle}
}

// upsell offers more seats to the customer of a license that has no free one.
func upsell(offer func(ctx context.Context, l api.License) error) licensing.Subscriber {
	handle := func(ctx context.Context, e api.Event) error {
		data, err := e.Decode()
		if err != nil || data.License == nil { // the customer was erased
			return err
		}
		return offer(ctx, *data.License) // metadata, max_activations
	}
	return licensing.Subscriber{Name: "upsell", Types: []string{api.EventActivationLimit}, MaxAttempts: 10, Handle: handle}
}

func createAdmin(ctx context.Context, h *licensing.Handler, email, password string) error {
	_, err := h.Operators().Create(ctx, operator.CreateParams{Email: email, Password: password, Role: operator.RoleAdmin})
	return err
}

func backup(ctx context.Context, st *sqlite.Store, folder string) error {
	return st.Backup(ctx, filepath.Join(folder, time.Now().UTC().Format("licenses-20060102T150405Z.db")))
}

// TestREADMEFunctions calls those of the first page.
func TestREADMEFunctions(t *testing.T) {
	is := is.New(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	mux := http.NewServeMux()
	mount(ctx, mux, memory.New(), licensing.Portal{Customer: func(http.ResponseWriter, *http.Request) (string, bool) { return "ada", true }})
	for _, path := range []string{"/licensing/health", "/account/licenses/"} {
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequestWithContext(ctx, "GET", path, nil))
		is.Equal(w.Code, http.StatusOK)
	}
	ok, err := canExport(nil, "")
	is.True(!ok && err != nil) // program.Open requires keys
}

// TestClientGuideFunctions calls the functions of the guide to the Go client.
func TestClientGuideFunctions(t *testing.T) {
	is := is.New(t)
	ctx := t.Context()
	h := licensing.NewHandler(memory.New(), licensing.Options{Logger: slog.New(slog.DiscardHandler)})
	client, secret, err := h.Auth().CreateClient(ctx, auth.CreateClientParams{Name: "Web shop", Scopes: auth.Scopes()})
	is.NoErr(err)
	service := httptest.NewServer(h)
	defer service.Close()
	shop, err := newShop(service.URL, client.ID, secret)
	is.NoErr(err)
	_, err = shop.PutPlan(ctx, api.PutPlanParams{ID: "atlas-team", ProductID: "atlas"})
	is.NoErr(err)
	first, err := sellOrder(ctx, shop, "order-7", "cus_1")
	is.NoErr(err)
	again, err := sellOrder(ctx, shop, "order-7", "cus_1")
	is.NoErr(err)
	is.Equal(again.ID, first.ID)
	var types []string
	handle := func(e api.Event) error {
		if e.Subject == first.ID {
			types = append(types, e.Type)
		}
		return nil
	}
	cursor, err := consume(ctx, shop, "", handle)
	is.NoErr(err)
	_, err = consume(ctx, shop, cursor, handle)
	is.NoErr(err)
	is.Equal(types, []string{api.EventLicenseCreated})
}

// TestProgramGuideFunctions calls the functions of the guide to shipped programs.
func TestProgramGuideFunctions(t *testing.T) {
	is := is.New(t)
	h := licensing.NewHandler(memory.New(), licensing.Options{Logger: slog.New(slog.DiscardHandler)})
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", "/file/keys", nil))
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Setenv("ATLAS_KEY", "")
	lic, err := openLicense(w.Body.Bytes())
	is.NoErr(err)
	defer lic.Close()
	is.True(!lic.Has("export"))
	is.Equal(lic.Status().Message(), "No license key is set; enter one.")
	err = activateInBrowser(t.Context(), lic, func(string, string) {})
	is.True(err != nil) // nothing answers at acme.example
	_, err = openProcess(nil, "")
	is.True(err != nil) // program.Open requires keys
	proxied := false
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		proxied = true
		w.WriteHeader(http.StatusProxyAuthRequired)
	}))
	defer proxy.Close()
	at, err := url.Parse(proxy.URL)
	is.NoErr(err)
	behind, err := behindProxy(w.Body.Bytes(), "k", at)
	is.NoErr(err)
	is.NoErr(behind.Close())
	is.True(proxied)
	require.Contains(t, behind.Status().Message(), "The proxy of this network asks for a sign-in")
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
	crm := subscriber(func(context.Context, api.Event) error { return nil })
	var offered api.License
	offers := upsell(func(_ context.Context, l api.License) error { offered = l; return nil })
	is.NoErr(licensing.Options{Subscribers: []licensing.Subscriber{crm, offers}}.Validate())
	is.NoErr(offers.Handle(t.Context(), api.Event{Data: []byte(`{"license":{"id":"lic_1"}}`)}))
	is.Equal(offered.ID, "lic_1")
	is.NoErr(offers.Handle(t.Context(), api.Event{Data: []byte(`{}`)}))

	r := httptest.NewRequest("GET", "/oauth/token", nil)
	r.SetBasicAuth(id, secret)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	is.Equal(w.Code, http.StatusOK)
}
