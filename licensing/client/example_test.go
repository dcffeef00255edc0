package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/client"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// startService serves an empty service, and returns the options of an API
// client that may do everything.
func startService() (opts client.Options, stop func()) {
	h := licensing.NewHandler(memory.New(), licensing.Options{Logger: slog.New(slog.DiscardHandler)})
	server := httptest.NewServer(h)
	c, secret, err := h.Auth().CreateClient(context.Background(), auth.CreateClientParams{Name: "Web shop", Scopes: auth.Scopes()})
	if err != nil {
		panic(err)
	}
	return client.Options{URL: server.URL, ClientID: c.ID, ClientSecret: secret}, server.Close
}

// A service sells a license. The order number makes sure that a repeated call
// sells it once.
func Example() {
	opts, stop := startService() // a service of yours
	defer stop()
	ctx := context.Background()

	c, err := client.New(opts)
	if err != nil {
		fmt.Println(err)
		return
	}
	order := api.CreateLicenseParams{
		Name: "Atlas Team", ProductID: "atlas", CustomerID: "cus_1",
		Terms: api.Terms{Entitlements: map[string]any{"export": true, "users": 5}},
	}
	first, err := c.Once("order-1007").CreateLicense(ctx, order)
	if err != nil {
		fmt.Println(err)
		return
	}
	again, err := c.Once("order-1007").CreateLicense(ctx, order)
	fmt.Println(again.ID == first.ID, again.Status, err)
	// Output: true active <nil>
}

func ExampleClient_ListLicenses() {
	opts, stop := startService()
	defer stop()
	ctx := context.Background()
	c, err := client.New(opts)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, name := range []string{"Atlas Team", "Atlas Solo"} {
		if _, err := c.CreateLicense(ctx, api.CreateLicenseParams{Name: name, ProductID: "atlas", CustomerID: "cus_1"}); err != nil {
			fmt.Println(err)
			return
		}
	}

	for l, err := range c.ListLicenses(ctx, api.ListLicensesParams{CustomerID: "cus_1"}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(l.Name)
	}
	// Unordered output:
	// Atlas Team
	// Atlas Solo
}

// An update changes what is set, unless another request was faster.
func ExampleClient_UpdateLicense() {
	opts, stop := startService()
	defer stop()
	ctx := context.Background()
	c, err := client.New(opts)
	if err != nil {
		fmt.Println(err)
		return
	}
	l, err := c.CreateLicense(ctx, api.CreateLicenseParams{Name: "Atlas Team", ProductID: "atlas", CustomerID: "cus_1"})
	if err != nil {
		fmt.Println(err)
		return
	}

	_, err = c.UpdateLicense(ctx, api.UpdateLicenseParams{ID: l.ID, MaxActivations: api.To[int64](10), IfMatch: []api.Version{l.Version()}})
	fmt.Println(err)
	_, err = c.UpdateLicense(ctx, api.UpdateLicenseParams{ID: l.ID, MaxActivations: api.ToNull[int64](), IfMatch: []api.Version{l.Version()}})
	fmt.Println(errors.Is(err, api.CodeStale))
	// Output:
	// <nil>
	// true
}

// A consumer keeps the cursor of the event feed.
func ExampleClient_ListEvents() {
	opts, stop := startService()
	defer stop()
	ctx := context.Background()
	c, err := client.New(opts)
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := c.CreateLicense(ctx, api.CreateLicenseParams{Name: "Atlas Team", ProductID: "atlas", CustomerID: "cus_1"}); err != nil {
		fmt.Println(err)
		return
	}

	var cursor string // from your database
	for page, err := range c.ListEvents(ctx, api.ListEventsParams{After: cursor, Types: []string{"license.*"}}) {
		if errors.Is(err, api.CodeCursorGone) {
			cursor = "" // read again from the beginning, and skip known IDs
			break
		}
		if err != nil {
			fmt.Println(err)
			return
		}
		for _, e := range page.Data {
			fmt.Println(e.Type, e.CustomerID)
		}
		cursor = page.NextCursor // to your database, together with the effects of the events
	}
	fmt.Println(cursor != "")
	// Output:
	// license.created cus_1
	// true
}

func ExampleVerifyWebhook() {
	const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw" // from the configuration

	http.HandleFunc("POST /hook", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		event, err := client.VerifyWebhook(secret, r.Header, body)
		if err != nil {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		fmt.Println(event.Type, event.Subject)
	})
}
