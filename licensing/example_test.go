package licensing_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// quiet keeps the line of each request out of the examples.
var quiet = licensing.Options{Logger: slog.New(slog.DiscardHandler)}

// A host mounts the service under any prefix, and issues credentials.
func ExampleNewHandler() {
	h := licensing.NewHandler(memory.New(), quiet) // or the store that sqlite.Open returns
	mux := http.NewServeMux()
	mux.Handle("/licensing/", http.StripPrefix("/licensing", h))
	server := httptest.NewServer(mux)
	defer server.Close()

	client, secret, err := h.Auth().CreateClient(context.Background(), auth.CreateClientParams{Name: "shop"})
	if err != nil {
		panic(err)
	}

	// The shop gets a token, and creates a license with it.
	r, _ := http.NewRequest("POST", server.URL+"/licensing/oauth/token", strings.NewReader("grant_type=client_credentials"))
	r.SetBasicAuth(client.ID, secret)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	var token struct {
		AccessToken string `json:"access_token"`
	}
	do(r, &token)

	r, _ = http.NewRequest("POST", server.URL+"/licensing/license",
		strings.NewReader(`{"name":"Atlas for Ada","product_id":"atlas","customer_id":"ada"}`))
	r.Header.Set("Authorization", "Bearer "+token.AccessToken)
	r.Header.Set("Content-Type", "application/json")
	var created api.License
	fmt.Println(do(r, &created))
	fmt.Println(created.Name, "is", created.Status)
	// Output:
	// 201 Created
	// Atlas for Ada is active
}

// do sends a request and reads the JSON of its answer.
func do(r *http.Request, answer any) (status string) {
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		panic(err)
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(answer); err != nil {
		panic(err)
	}
	return resp.Status
}

// Go code calls the same rules without HTTP.
func ExampleHandler_Service() {
	h := licensing.NewHandler(memory.New(), quiet)
	ctx := context.Background()

	l, err := h.Service().Create(ctx, api.CreateLicenseParams{Name: "Atlas for Ada", ProductID: "atlas", CustomerID: "ada"})
	if err != nil {
		panic(err)
	}
	name := "Atlas for Ada Lovelace"
	l, err = h.Service().Update(ctx, api.UpdateLicenseParams{ID: l.ID, Name: &name})
	if err != nil {
		panic(err)
	}
	fmt.Println(l.Name, l.Version())
	// Output: Atlas for Ada Lovelace 2.active
}

// A host guards a route of its own with the same tokens.
func ExampleHandler_Auth() {
	h := licensing.NewHandler(memory.New(), quiet)
	report := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		grant, _ := auth.GrantFrom(r.Context())
		fmt.Fprintln(w, "for", grant.ClientID)
	})
	guarded := h.Auth().RequireScope(auth.ScopeLicenseRead)(report)

	w := httptest.NewRecorder()
	guarded.ServeHTTP(w, httptest.NewRequest("GET", "/report", nil))
	fmt.Println(w.Code, w.Header().Get("Content-Type"))
	// Output: 401 application/problem+json
}

// A host answers errors as the service does.
func ExampleHandler_WriteError() {
	h := licensing.NewHandler(memory.New(), quiet)
	show := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		l, err := h.Service().Get(r.Context(), r.FormValue("id"))
		if err != nil {
			h.WriteError(w, r, err)
			return
		}
		io.WriteString(w, l.Name)
	})

	w := httptest.NewRecorder()
	show.ServeHTTP(w, httptest.NewRequest("GET", "/show?id=lic_none", nil))
	fmt.Println(w.Code, strings.Contains(w.Body.String(), `"code":"not_found"`))
	// Output: 404 true
}

// Upkeep runs for as long as a context lasts.
func ExampleHandler_Run() {
	h := licensing.NewHandler(memory.New(), quiet)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- h.Run(ctx) }()
	// … serve; and when the server has shut down:
	stop()
	fmt.Println(<-done)
	// Output: <nil>
}

// A route of the host's own asks for a license of the customer who is signed
// in, and continues without one while the store cannot answer.
func ExampleHandler_Require() {
	h := licensing.NewHandler(memory.New(), quiet)
	_, err := h.Service().Create(context.Background(), api.CreateLicenseParams{
		Name: "Atlas Team", ProductID: "atlas", CustomerID: "ada", Terms: api.Terms{Entitlements: map[string]any{"export": true}},
	})
	if err != nil {
		panic(err)
	}
	require := h.Require(licensing.Requirement{
		ProductID:   "atlas",
		Entitlement: "export",
		Customer:    func(r *http.Request) string { name, _, _ := r.BasicAuth(); return name }, // verified before
		FailOpen:    true,
	})
	export := require(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		l, _ := licensing.LicenseFrom(r.Context())
		fmt.Fprintf(w, "exported under %s\n", l.Name)
	}))

	for _, customer := range []string{"ada", "grace"} {
		r := httptest.NewRequest("GET", "/export", nil)
		r.SetBasicAuth(customer, "")
		w := httptest.NewRecorder()
		export.ServeHTTP(w, r)
		var problem struct{ Code, Detail string }
		if json.Unmarshal(w.Body.Bytes(), &problem) != nil {
			fmt.Print(w.Body)
			continue
		}
		fmt.Println(w.Code, problem.Code, problem.Detail)
	}
	// Output:
	// exported under Atlas Team
	// 403 license_denied The customer has no matching license.
}
