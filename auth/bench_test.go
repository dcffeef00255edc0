package auth

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// BenchmarkToken issues tokens, to one client that has as many as it may;
// BenchmarkCheck looks one up; BenchmarkHello is what to compare them with.
func BenchmarkToken(b *testing.B) {
	benchmark(b, func(a *Auth, c Client, secret, token string) (http.Handler, func() *http.Request) {
		body := "grant_type=client_credentials&client_id=" + c.ID + "&client_secret=" + secret
		return http.HandlerFunc(a.ServeToken), func() *http.Request {
			r := httptest.NewRequest("POST", "/oauth/token", strings.NewReader(body))
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			return r
		}
	})
}

func BenchmarkCheck(b *testing.B) {
	benchmark(b, func(a *Auth, c Client, secret, token string) (http.Handler, func() *http.Request) {
		return a.RequireScope(ScopeLicenseRead)(http.HandlerFunc(hello)), func() *http.Request {
			r := httptest.NewRequest("GET", "/", nil)
			r.Header.Set("Authorization", "Bearer "+token)
			return r
		}
	})
}

func BenchmarkHello(b *testing.B) {
	benchmark(b, func(a *Auth, c Client, secret, token string) (http.Handler, func() *http.Request) {
		return http.HandlerFunc(hello), func() *http.Request { return httptest.NewRequest("GET", "/", nil) }
	})
}

func hello(w http.ResponseWriter, r *http.Request) { w.Write([]byte("hello")) }

func benchmark(b *testing.B, setUp func(a *Auth, c Client, secret, token string) (http.Handler, func() *http.Request)) {
	is := is.New(b)
	a := New(memory.New(), Options{Logger: slog.New(slog.DiscardHandler)})
	c, secret, err := a.CreateClient(context.Background(), CreateClientParams{Name: "bench"})
	is.NoErr(err)
	w := httptest.NewRecorder()
	a.ServeToken(w, httptest.NewRequest("GET", "/oauth/token?client_id="+c.ID+"&client_secret="+secret, nil))
	_, rest, _ := strings.Cut(w.Body.String(), `{"access_token":"`)
	h, request := setUp(a, c, secret, rest[:credentialLen])
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			w := httptest.NewRecorder()
			if h.ServeHTTP(w, request()); w.Code != 200 {
				b.Error(w.Code, w.Body)
				return
			}
		}
	})
}
