package client_test

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"time"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/client"
	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
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
	order := client.CreateLicenseParams{
		Name: "Atlas Team", ProductID: "atlas", CustomerID: "cus_1",
		Entitlements: map[string]any{"export": true, "users": 5},
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
		if _, err := c.CreateLicense(ctx, client.CreateLicenseParams{Name: name, ProductID: "atlas", CustomerID: "cus_1"}); err != nil {
			fmt.Println(err)
			return
		}
	}

	for l, err := range c.ListLicenses(ctx, client.ListLicensesParams{CustomerID: "cus_1"}) {
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
	l, err := c.CreateLicense(ctx, client.CreateLicenseParams{Name: "Atlas Team", ProductID: "atlas", CustomerID: "cus_1"})
	if err != nil {
		fmt.Println(err)
		return
	}

	_, err = c.UpdateLicense(ctx, client.UpdateLicenseParams{ID: l.ID, MaxActivations: client.To[int64](10), IfMatch: []client.Version{l.Version()}})
	fmt.Println(err)
	_, err = c.UpdateLicense(ctx, client.UpdateLicenseParams{ID: l.ID, MaxActivations: client.ToNull[int64](), IfMatch: []client.Version{l.Version()}})
	fmt.Println(errors.Is(err, client.CodeStale))
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
	if _, err := c.CreateLicense(ctx, client.CreateLicenseParams{Name: "Atlas Team", ProductID: "atlas", CustomerID: "cus_1"}); err != nil {
		fmt.Println(err)
		return
	}

	var cursor string // from your database
	for page, err := range c.ListEvents(ctx, client.ListEventsParams{After: cursor, Type: "license.*"}) {
		if errors.Is(err, client.CodeCursorGone) {
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

// A shipped program checks its license at the start, runs whether or not it is
// valid, and reserves some features.
func ExampleOpen() {
	url, key, stop := startVendor()
	defer stop()

	dir, err := os.MkdirTemp("", "atlas-*") // a directory that the program keeps
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	id, err := client.RandomID(dir)
	if err != nil {
		fmt.Println(err)
		return
	}
	lic, err := client.Open(client.ProgramOptions{URL: url, Key: key, ProductID: "atlas", Fingerprint: id})
	if err != nil {
		fmt.Println(err) // a wrong option
		return
	}
	defer lic.Close()

	users, _ := lic.Number("users")
	fmt.Println(lic.Status().Code, lic.Has("export"), lic.Has("import"), users)
	// Output: valid true false 5
}

// A program that starts without a key asks the user for one.
func ExampleProgram_SetKey() {
	url, key, stop := startVendor()
	defer stop()
	lic, err := client.Open(client.ProgramOptions{URL: url, ProductID: "atlas"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer lic.Close()

	fmt.Println(lic.Status().Code)
	if err := lic.SetKey(context.Background(), "a typo"); errors.Is(err, client.CodeNotFound) {
		fmt.Println("No license has this key.")
	}
	if err := lic.SetKey(context.Background(), key); err != nil {
		fmt.Println(err)
	}
	fmt.Println(lic.Status().Code)
	// Output:
	// no_key
	// No license has this key.
	// valid
}

func ExampleProgram_Require() {
	lic := client.Fixed(client.Status{Valid: true, Entitlements: map[string]any{"import": true}})
	report := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprintln(w, "the report") })

	mux := http.NewServeMux()
	mux.Handle("GET /report", lic.Require("export")(report))

	w := httptest.NewRecorder()
	mux.ServeHTTP(w, httptest.NewRequest("GET", "/report", nil))
	fmt.Println(w.Code, w.Body)
	// Output:
	// 403 {"type":"about:blank","title":"Forbidden","status":403,"code":"license_denied","detail":"The license of this application does not include export."}
}

// A test of a program needs no service.
func ExampleFixed() {
	lic := client.Fixed(client.Status{Code: client.CodeExpired})
	fmt.Println(lic.Err())
	// Output: license not valid: expired
}

// The monitoring of the customer scrapes the status of the license.
func ExampleProgram_Metrics() {
	lic := client.Fixed(client.Status{Valid: true, Source: client.SourceOnline})
	http.HandleFunc("GET /metrics", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		io.WriteString(w, lic.Metrics())
	})
	fmt.Print(lic.Metrics())
	// Output:
	// # HELP licensekit_license_valid Whether the license is valid.
	// # TYPE licensekit_license_valid gauge
	// licensekit_license_valid 1
	// # HELP licensekit_license_status The present status of the license.
	// # TYPE licensekit_license_status gauge
	// licensekit_license_status{code="valid",source="online"} 1
}

// startVendor serves a service with one license.
func startVendor() (url, key string, stop func()) {
	opts, stop := startService()
	c, err := client.New(opts)
	if err != nil {
		panic(err)
	}
	l, err := c.CreateLicense(context.Background(), client.CreateLicenseParams{
		Name: "Atlas Team", ProductID: "atlas", CustomerID: "cus_1", Entitlements: map[string]any{"export": true, "users": 5},
	})
	if err != nil {
		panic(err)
	}
	return opts.URL, l.Key, stop
}

// A program without a network runs from a license file.
func ExampleProgram_Install() {
	keys, text := issueFile() // keys are embedded in the program

	lic, err := client.Open(client.ProgramOptions{ProductID: "atlas", Fingerprint: "pc-1", Trust: keys})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer lic.Close()
	fmt.Println(lic.Status().Code)
	if err := lic.Install("a text that was cut"); err != nil {
		fmt.Println("This is not a license file.")
	}
	if err := lic.Install(text); err != nil {
		fmt.Println(err)
	}
	fmt.Println(lic.Status().Code, lic.Has("export"))
	// Output:
	// no_file
	// This is not a license file.
	// valid true
}

// issueFile returns a license file and the public key that verifies it.
func issueFile() (*licensefile.KeySet, string) {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		panic(err)
	}
	keys, err := licensefile.NewKeySet(public)
	if err != nil {
		panic(err)
	}
	now := time.Now()
	text, err := licensefile.Sign(licensefile.Claims{
		ID: "4TJQ8ZC1V6X2RWN0", LicenseID: "lic_1", ProductID: "atlas", Generation: 1,
		IssuedAt: now, NotBefore: now, ExpiresAt: now.Add(14 * 24 * time.Hour),
		FingerprintHash: licensefile.FingerprintHash("lic_1", "pc-1"), Entitlements: map[string]any{"export": true},
	}, private)
	if err != nil {
		panic(err)
	}
	return keys, text
}
