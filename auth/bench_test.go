package auth

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// BenchmarkToken issues tokens to one client at its limit, BenchmarkCheck passes
// a request through RequireScope, and BenchmarkHello has no check, for comparison.
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

// BenchmarkAuthenticate verifies a token without the rest of a request: "cached"
// within a second of the last verification, "read" after it.
func BenchmarkAuthenticate(b *testing.B) {
	for name, step := range map[string]time.Duration{"cached": 0, "read": time.Second} {
		b.Run(name, func(b *testing.B) {
			is := is.New(b)
			s := newIssuer(b)
			a := New(s.st.Store, s.opts)
			r := httptest.NewRequest("GET", "/", nil)
			r.Header.Set("Authorization", "Bearer "+s.token(b, s.client.ID, s.secret))
			b.ReportAllocs()
			for b.Loop() {
				s.ahead.Store((s.ahead.Load() + int64(step)) % int64(time.Hour/2))
				_, err := a.Authenticate(r, ScopeLicenseRead)
				is.NoErr(err)
			}
		})
	}
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
