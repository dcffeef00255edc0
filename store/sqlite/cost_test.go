//go:build !race

package sqlite

import (
	"crypto"
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	licensefiles "github.com/seed-d8a106b4/licensekit/licensing/files"
)

// TestCostOfRequests is not built with the race detector, which allocates.
//
// A get, a list and a validation take one statement each. A report of usage takes six: it
// reads the license, the ID and the meter, and writes both together; a repeated one writes
// nothing. The other bounds are
// about one and a half times what the requests take today, so that they notice a
// cost that grows in kind and not each change. Every update includes two
// statements, BEGIN and COMMIT.
func TestCostOfRequests(t *testing.T) {
	is := is.New(t)
	st, err := Open(filepath.Join(t.TempDir(), "cost.db"))
	is.NoErr(err)
	defer st.Close()
	now := time.Now() // stands still, so that the verified token stays in its cache
	signed := 0
	h := licensing.NewHandler(st, licensing.Options{
		Now:    func() time.Time { return now },
		Logger: slog.New(slog.DiscardHandler), Limits: licensing.LimitOptions{ClientRate: -1, AddressRate: -1, KeyRate: -1},
		SigningKeys: []licensefiles.SigningKey{{Signer: countedSigner{ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)), &signed}}},
	})
	client, secret, err := h.Auth().CreateClient(t.Context(), auth.CreateClientParams{Name: "test"})
	is.NoErr(err)
	ran, token := 0, ""
	st.count(t, &ran)

	request := func(method, path, body string) *http.Request {
		r := httptest.NewRequest(method, path, strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", "Bearer "+token)
		return r
	}
	tokenRequest := func() *http.Request {
		return httptest.NewRequest("GET", "/oauth/token?client_id="+client.ID+"&client_secret="+secret, nil)
	}
	send := func(r *http.Request) map[string]any {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		var answer map[string]any
		is.NoErr(json.Unmarshal(w.Body.Bytes(), &answer))
		require.Less(t, w.Code, 300)
		return answer
	}
	token = send(tokenRequest())["access_token"].(string)
	create := func() map[string]any {
		return send(request("POST", "/license", `{"name":"Atlas Team","product_id":"atlas","customer_id":"cus_1"}`))
	}
	report := func(key, usage string) *http.Request {
		return request("POST", "/license/usage", `{"key":"`+key+`","usage":[{"meter":"exports","id":"`+usage+`","total":1}]}`)
	}
	metered := send(request("POST", "/license", `{"name":"Atlas Team","product_id":"atlas","customer_id":"cus_1","meters":{"exports":{"limit":1000,"per":"month"}}}`))["key"].(string)
	send(report(metered, "again"))
	first := create()
	id, key := first["id"].(string), first["key"].(string)
	for range 18 { // with the metered one, 20
		create()
	}
	const runs = 30
	var doomed []string
	for range runs + 1 {
		l := send(request("POST", "/license", `{"name":"Atlas Team","product_id":"atlas","customer_id":"cus_2"}`))
		doomed = append(doomed, l["id"].(string))
	}

	n := 0
	const validate, issue = "validate an activation", "validate an activation, with a license file"
	measured := map[string]float64{} // allocations, by name
	for _, tt := range []struct {
		name                    string
		statements, allocations float64 // for one request, at most
		request                 func() *http.Request
	}{
		{"get", 1, 110, func() *http.Request { return request("GET", "/license/"+id, "") }},
		{"list 20", 1, 670, func() *http.Request { return request("GET", "/license?customer_id=cus_1", "") }},
		{"validate", 1, 130, func() *http.Request { return request("POST", "/license/validate", `{"key":"`+key+`"}`) }},
		{"activate", 15, 450, func() *http.Request {
			return request("POST", "/license/activate", fmt.Sprintf(`{"key":"%s","fingerprint":"machine-%d"}`, key, n))
		}},
		{validate, 8, 190, func() *http.Request {
			return request("POST", "/license/validate", `{"key":"`+key+`","fingerprint":"machine-1"}`)
		}},
		{issue, 8, 250, func() *http.Request { // under the hold of the first; the keys are read once a second
			return request("POST", "/license/validate", `{"key":"`+key+`","fingerprint":"machine-1","file":"P14D"}`)
		}},
		{"create", 6, 220, func() *http.Request {
			return request("POST", "/license", `{"name":"Atlas Team","product_id":"atlas","customer_id":"cus_3"}`)
		}},
		{"update", 8, 280, func() *http.Request {
			return request("PATCH", "/license/"+id, fmt.Sprintf(`{"name":"Atlas Team %d"}`, n))
		}},
		{"delete", 12, 250, func() *http.Request { return request("DELETE", "/license/"+doomed[n], "") }},
		{"report of usage", 6, 380, func() *http.Request { return report(metered, fmt.Sprint("request ", n)) }},
		{"repeated report of usage", 5, 330, func() *http.Request { return report(metered, "again") }},
		{"token", 6, 180, tokenRequest},
	} {
		requests := make([]*http.Request, runs+1)
		for n = range requests {
			requests[n] = tt.request()
		}
		if tt.name == issue {
			is.True(send(tt.request())["file"] != nil)
		}
		n, ran, signed = 0, 0, 0
		failed := false
		allocations := testing.AllocsPerRun(runs, func() {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, requests[n])
			failed = failed || w.Code >= 300
			n++
		})
		is.True(!failed)
		if want := map[string]int{issue: runs + 1}[tt.name]; signed != want {
			t.Errorf("%s takes %d signatures for %d requests, want %d", tt.name, signed, runs+1, want)
		}
		measured[tt.name] = allocations
		statements := float64(ran) / (runs + 1)
		if statements > tt.statements || allocations > tt.allocations {
			t.Errorf("%s takes %.2f statements and %.0f allocations; allowed are %v and %v",
				tt.name, statements, allocations, tt.statements, tt.allocations)
		}
	}
	if measured[issue] > 2*measured[validate] {
		t.Errorf("a license file takes %.0f allocations; allowed is twice the %.0f of a validation", measured[issue], measured[validate])
	}
}

// A countedSigner counts the signatures that it makes.
type countedSigner struct {
	ed25519.PrivateKey
	signed *int
}

func (s countedSigner) Sign(random io.Reader, message []byte, opts crypto.SignerOpts) ([]byte, error) {
	*s.signed++
	return s.PrivateKey.Sign(random, message, opts)
}
