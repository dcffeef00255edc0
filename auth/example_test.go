package auth_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// A host guards its own route; a program gets a token and calls it.
func Example() {
	a := auth.New(memory.New(), auth.Options{})
	mux := http.NewServeMux()
	mux.HandleFunc("/oauth/token", a.ServeToken)
	mux.Handle("/reports", a.RequireScope(auth.ScopeLicenseRead)(http.HandlerFunc(
		func(w http.ResponseWriter, r *http.Request) {
			grant, _ := auth.GrantFrom(r.Context())
			fmt.Fprintln(w, "reports for a client with", grant.Scopes)
		})))
	srv := httptest.NewServer(mux)
	defer srv.Close()

	client, secret, err := a.CreateClient(context.Background(), auth.CreateClientParams{
		Name:   "nightly report",
		Scopes: []string{auth.ScopeLicenseRead},
	})
	if err != nil {
		panic(err)
	}

	req, _ := http.NewRequest("POST", srv.URL+"/oauth/token",
		strings.NewReader(url.Values{"grant_type": {"client_credentials"}}.Encode()))
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.SetBasicAuth(client.ID, secret)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		panic(err)
	}
	defer resp.Body.Close()
	var token struct {
		AccessToken string `json:"access_token"`
		ExpiresIn   int    `json:"expires_in"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&token); err != nil {
		panic(err)
	}
	fmt.Println("a token for", token.ExpiresIn, "seconds")

	req, _ = http.NewRequest("GET", srv.URL+"/reports", nil)
	req.Header.Set("Authorization", "Bearer "+token.AccessToken)
	resp, err = http.DefaultClient.Do(req)
	if err != nil {
		panic(err)
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	fmt.Printf("%s", body)

	// Output:
	// a token for 3600 seconds
	// reports for a client with [license:read]
}

// A new secret is deployed while the old one still works, and the old one is
// revoked when no program uses it any more.
func ExampleAuth_RotateSecret() {
	ctx := context.Background()
	a := auth.New(memory.New(), auth.Options{Now: func() time.Time { return time.Date(2026, 5, 1, 9, 0, 0, 0, time.UTC) }})
	client, _, err := a.CreateClient(ctx, auth.CreateClientParams{Name: "shop"})
	if err != nil {
		panic(err)
	}

	client, secret, err := a.RotateSecret(ctx, auth.RotateSecretParams{ClientID: client.ID, Overlap: auth.DefaultOverlap})
	if err != nil {
		panic(err)
	}
	fmt.Println("the new secret begins with", secret[:4])
	fmt.Println("the old one works until", client.Secrets[0].ExpiresAt.Format(time.DateTime))

	client, err = a.RevokeSecret(ctx, client.ID, client.Secrets[0].ID)
	if err != nil {
		panic(err)
	}
	fmt.Println("secrets left:", len(client.Secrets))

	// Output:
	// the new secret begins with csk_
	// the old one works until 2026-05-02 09:00:00
	// secrets left: 1
}
