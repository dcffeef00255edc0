package auth_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// A route needs a scope, and shows a client only the products that it is limited to.
func ExampleAuth_RequireScope() {
	a := auth.New(memory.New(), auth.Options{})
	mux := http.NewServeMux()
	mux.HandleFunc("POST /oauth/token", a.ServeToken)
	mux.Handle("GET /downloads/{product}", a.RequireScope(auth.ScopeLicenseRead)(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		grant, _ := auth.GrantFrom(r.Context())
		if product := r.PathValue("product"); grant.Products != nil && !slices.Contains(grant.Products, product) {
			http.NotFound(w, r)
		}
	})))
	serve := func(r *http.Request) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, r)
		return w
	}
	token := func(p auth.CreateClientParams) string {
		client, secret, err := a.CreateClient(context.Background(), p)
		if err != nil {
			log.Fatal(err)
		}
		r := httptest.NewRequest("POST", "/oauth/token", strings.NewReader("grant_type=client_credentials"))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.SetBasicAuth(client.ID, secret)
		var reply struct {
			Token string `json:"access_token"`
		}
		if err := json.Unmarshal(serve(r).Body.Bytes(), &reply); err != nil {
			log.Fatal(err)
		}
		return reply.Token
	}
	mirror := token(auth.CreateClientParams{Name: "mirror", Scopes: []string{auth.ScopeLicenseRead}, Products: []string{"atlas"}})
	monitor := token(auth.CreateClientParams{Name: "monitor", Scopes: []string{auth.ScopeEventRead}})
	for _, c := range [][2]string{{mirror, "atlas"}, {mirror, "other"}, {monitor, "atlas"}, {"", "atlas"}} {
		r := httptest.NewRequest("GET", "/downloads/"+c[1], nil)
		if c[0] != "" {
			r.Header.Set("Authorization", "Bearer "+c[0])
		}
		fmt.Println(serve(r).Code)
	}
	// Output:
	// 200
	// 404
	// 403
	// 401
}
