package postgres_test

import (
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
)

// TestRoundTripsOfRequests counts the round trips of one request with pgx. An update is
// one, in addition to its reads.
func TestRoundTripsOfRequests(t *testing.T) {
	is := is.New(t)
	db, r := record(t, "pgx", sharedDSN(t))
	now := time.Now() // stands still, so that the verified token stays in its cache
	h := licensing.NewHandler(newStore(t, db, newSchema(t, db)), licensing.Options{
		Now:    func() time.Time { return now },
		Logger: slog.New(slog.DiscardHandler), Limits: licensing.LimitOptions{ClientRate: -1, AddressRate: -1, KeyRate: -1},
	})
	client, secret, err := h.Auth().CreateClient(t.Context(), auth.CreateClientParams{Name: "test"})
	is.NoErr(err)
	token := ""
	send := func(method, path, body string) map[string]any {
		t.Helper()
		req := httptest.NewRequest(method, path, strings.NewReader(body))
		if body != "" {
			req.Header.Set("Content-Type", "application/json")
		}
		if token != "" {
			req.Header.Set("Authorization", "Bearer "+token)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, req)
		var answer map[string]any
		is.NoErr(json.Unmarshal(w.Body.Bytes(), &answer))
		if w.Code >= http.StatusBadRequest {
			t.Fatal(method, path, w.Code, w.Body)
		}
		return answer
	}
	newToken := func() map[string]any {
		return send("GET", "/oauth/token?client_id="+client.ID+"&client_secret="+secret, "")
	}
	token = newToken()["access_token"].(string)
	create := func() map[string]any {
		return send("POST", "/license", `{"name":"Atlas Team","product_id":"atlas","customer_id":"cus_1"}`)
	}
	first := create()
	id, key := first["id"].(string), first["key"].(string)
	doomed := create()["id"].(string)
	limited := send("POST", "/license", `{"name":"Atlas Team","product_id":"atlas","customer_id":"cus_1","max_activations":1000}`)
	officeOf := func(l map[string]any, key ed25519.PrivateKey, seats int64) {
		request, err := licensefile.SignOfficeRequest(licensefile.OfficeRequest{Seats: seats}, key)
		is.NoErr(err)
		send("POST", "/license/"+l["id"].(string)+"/file", `{"request":"`+request+`"}`)
	}
	newKey := func() ed25519.PrivateKey {
		_, key, err := ed25519.GenerateKey(nil)
		is.NoErr(err)
		return key
	}
	office, renewed := func(seats int64) { officeOf(limited, newKey(), seats) }, newKey()
	var lapsed []map[string]any // full licenses whose leases end
	for range 2 {
		l := send("POST", "/license", `{"name":"Atlas Team","product_id":"atlas","customer_id":"cus_1","max_activations":200,"lease_seconds":60}`)
		for i := range 200 {
			send("POST", "/license/activate", fmt.Sprintf(`{"key":"%s","fingerprint":"machine-%d"}`, l["key"], i))
		}
		lapsed = append(lapsed, l)
	}
	now = now.Add(2 * time.Minute)
	n := 0
	for _, test := range []struct {
		name  string
		trips int // at most
		send  func()
	}{
		{"get", 1, func() { send("GET", "/license/"+id, "") }},
		{"list", 1, func() { send("GET", "/license?customer_id=cus_1", "") }},
		{"validate", 1, func() { send("POST", "/license/validate", `{"key":"`+key+`"}`) }},
		{"activate", 4, func() {
			send("POST", "/license/activate", fmt.Sprintf(`{"key":"%s","fingerprint":"machine-%d"}`, key, n))
		}},
		{"activate again", 3, func() {
			send("POST", "/license/activate", `{"key":"`+key+`","fingerprint":"machine-0"}`)
		}},
		{"validate an activation", 4, func() {
			send("POST", "/license/validate", `{"key":"`+key+`","fingerprint":"machine-0"}`)
		}},
		{"create", 1, func() { create() }},
		{"update", 2, func() { send("PATCH", "/license/"+id, fmt.Sprintf(`{"name":"Atlas Team %d"}`, n)) }},
		{"delete", 2, func() { send("DELETE", "/license/"+doomed, "") }},
		{"the file of an office with 1 seat", 9, func() { office(1) }},
		{"the file of an office with 200 seats", 11, func() { office(200) }},
		{"the file of an office with 200 seats whose leases have ended", 13, func() { officeOf(lapsed[n], renewed, 200) }},
		{"the file of an office that has all 200 seats", 13, func() {
			now = now.Add(time.Minute)
			officeOf(lapsed[0], renewed, 200)
		}},
		{"token", 2, func() { token = ""; newToken() }},
	} {
		for n = range 2 { // the first one prepares the statements
			if test.name == "delete" && n == 1 {
				doomed = create()["id"].(string)
			}
			r.take()
			test.send()
		}
		if _, trips := r.take(); trips > test.trips {
			t.Errorf("%s takes %d round trips; want at most %d", test.name, trips, test.trips)
		}
	}
}
