package main

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store/sqlite"
)

const (
	benchLicenses = 100_000 // with -short, 1,000
	benchCustomer = 20      // licenses of each customer
	benchCallers  = 16      // per processor
)

// BenchmarkAPI measures each operation through the handler, on SQLite with
// 100,000 licenses, many callers at a time, without the network. Run it with
//
//	go test -run '^$' -bench API ./example
func BenchmarkAPI(b *testing.B) {
	h, client, secret, bearer := benchHandler(b, filepath.Join(b.TempDir(), "bench.db"))
	licenses := benchLicenses
	if testing.Short() {
		licenses = 1000
	}
	ids := benchSeed(b, h.Service(), licenses)
	anyID := func() string { return ids[rand.IntN(len(ids))] }

	b.Run("Create", func(b *testing.B) {
		benchRequests(b, h, benchCallers, http.StatusCreated, func() *http.Request {
			return bearer("POST", "/license", `{"name":"Atlas Team","product_id":"atlas","customer_id":"cus_new"}`)
		})
	})
	b.Run("Get", func(b *testing.B) {
		benchRequests(b, h, benchCallers, http.StatusOK, func() *http.Request { return bearer("GET", "/license/"+anyID(), "") })
	})
	b.Run("List", func(b *testing.B) { // one customer's twenty
		benchRequests(b, h, benchCallers, http.StatusOK, func() *http.Request {
			return bearer("GET", fmt.Sprintf("/license?customer_id=cus_%d", rand.IntN(licenses/benchCustomer)), "")
		})
	})
	b.Run("Update", func(b *testing.B) {
		var n atomic.Int64
		benchRequests(b, h, benchCallers, http.StatusOK, func() *http.Request {
			return bearer("PATCH", "/license/"+anyID(), fmt.Sprintf(`{"name":"Atlas Team %d"}`, n.Add(1)))
		})
	})
	b.Run("Delete", func(b *testing.B) {
		doomed := benchSeed(b, h.Service(), b.N)
		var n atomic.Int64
		benchRequests(b, h, benchCallers, http.StatusOK, func() *http.Request {
			return bearer("DELETE", "/license/"+doomed[n.Add(1)-1], "")
		})
	})
	b.Run("Token", func(b *testing.B) { // the last, since new tokens end old ones
		benchRequests(b, h, benchCallers, http.StatusOK, func() *http.Request {
			r := httptest.NewRequest("POST", "/oauth/token", strings.NewReader("grant_type=client_credentials"))
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			r.SetBasicAuth(client, secret)
			return r
		})
	})
}

// benchHandler returns a handler on a file, a client, and a function that makes requests
// with a token of it.
func benchHandler(b *testing.B, path string) (h *licensing.Handler, clientID, secret string, bearer func(method, path, body string) *http.Request) {
	st, err := sqlite.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { st.Close() })
	h = licensing.NewHandler(st, licensing.Options{
		Logger: slog.New(slog.DiscardHandler), Limits: licensing.LimitOptions{ClientRate: -1, AddressRate: -1, KeyRate: -1},
	})
	client, secret, err := h.Auth().CreateClient(b.Context(), auth.CreateClientParams{Name: "bench"})
	if err != nil {
		b.Fatal(err)
	}
	w := httptest.NewRecorder()
	r := httptest.NewRequest("GET", "/oauth/token", nil)
	r.SetBasicAuth(client.ID, secret)
	h.ServeHTTP(w, r)
	token := strings.Split(w.Body.String(), `"`)[3]
	return h, client.ID, secret, func(method, path, body string) *http.Request {
		r := httptest.NewRequest(method, path, strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer "+token)
		if body != "" {
			r.Header.Set("Content-Type", "application/json")
		}
		return r
	}
}

// benchSeed creates n licenses, many in one update, and returns their ids.
func benchSeed(b *testing.B, svc *license.Service, n int) []string {
	ids := make([]string, 0, n)
	for len(ids) < n {
		var batch []string
		err := svc.Atomically(b.Context(), func(svc *license.Service) error {
			batch = nil
			for i := len(ids); i < min(n, len(ids)+1000); i++ {
				l, err := svc.Create(b.Context(), api.CreateLicenseParams{
					Name: fmt.Sprintf("License %d", i), ProductID: fmt.Sprintf("prod_%d", i%10),
					CustomerID: fmt.Sprintf("cus_%d", i/benchCustomer),
				})
				if err != nil {
					return err
				}
				batch = append(batch, l.ID)
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
		ids = append(ids, batch...)
	}
	return ids
}

// benchRequests sends b.N requests by many callers at a time, so many of each processor.
func benchRequests(b *testing.B, h http.Handler, callers, status int, request func() *http.Request) {
	b.ReportAllocs()
	b.SetParallelism(callers)
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, request())
			if w.Code != status {
				b.Errorf("%d %s", w.Code, w.Body)
				return
			}
		}
	})
}
