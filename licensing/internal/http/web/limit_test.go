package web

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
)

func TestRetryAfterIsWholeSecondsAndNeverShort(t *testing.T) {
	is := is.New(t)
	for _, wait := range []time.Duration{-time.Hour, 0, 1, time.Second, 1500 * time.Millisecond, time.Minute} {
		for range 100 {
			seconds, err := strconv.Atoi(retryAfter(wait))
			is.NoErr(err)
			got := time.Duration(seconds) * time.Second
			require.AtLeast(t, got, wait)
			require.AtLeast(t, got, time.Second)
			require.AtMost(t, got, max(wait, time.Second)*5/4+2*time.Second)
		}
	}
}

// A countingLimiter allows and counts all.
type countingLimiter struct{ n int }

func (l *countingLimiter) Allow(context.Context, string) (time.Duration, bool) { l.n++; return 0, true }

// TestBadTokensAreCounted: a store that failed says nothing of the token.
func TestBadTokensAreCounted(t *testing.T) {
	is := is.New(t)
	for status, counted := range map[int]int{401: 1, 403: 1, 503: 0} {
		l, log := &countingLimiter{}, slog.New(slog.DiscardHandler)
		s := NewSite(Config{
			Logger: log, RequestLog: log, BodyTimeout: time.Minute, Timeout: time.Minute, Limiter: l,
			After:        func(http.ResponseWriter, *http.Request) {},
			Authenticate: func(*http.Request, string) (auth.Grant, error) { return auth.Grant{}, &auth.Error{Status: status} },
		}, []Route{{Method: "GET", Path: "/license", Scope: "license:read"}}, nil)
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/license", nil))
		is.Equal(w.Code, status)
		is.Equal(l.n, counted)
	}
}

// TestASlotIsFreeOnceTheTimeOfItsRequestIsOver, although a client that does not read
// its response keeps the handler.
func TestASlotIsFreeOnceTheTimeOfItsRequestIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		read, log := make(chan struct{}), slog.New(slog.DiscardHandler)
		s := NewSite(Config{
			Logger: log, RequestLog: log, BodyTimeout: time.Minute, Timeout: time.Minute, After: func(http.ResponseWriter, *http.Request) {},
		}, []Route{{
			Method: "GET", Path: "/slow", Slots: make(chan struct{}, 1), Unlimited: true,
			Handle: func(http.ResponseWriter, *http.Request) error { <-read; return nil },
		}}, nil)
		get := func() int {
			w := httptest.NewRecorder()
			s.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/slow", nil))
			return w.Code
		}
		go get()
		synctest.Wait()
		is.Equal(get(), http.StatusTooManyRequests)
		time.Sleep(time.Minute)
		synctest.Wait()
		done := make(chan int, 1)
		go func() { done <- get() }()
		synctest.Wait()
		close(read)
		is.Equal(<-done, http.StatusOK)
	})
}

func TestAddressesAreCountedByWhoHasThem(t *testing.T) {
	for remote, want := range map[string]string{
		"203.0.113.7:1234":         "address:203.0.113.7",
		"[::ffff:203.0.113.7]:1":   "address:203.0.113.7",
		"[2001:db8:1:2:3::4]:1":    "address:2001:db8:1:2::/64",
		"[2001:db8:1:2::9%eth0]:1": "address:2001:db8:1:2::/64",
		"127.0.0.1:1":              "", "[::1]:1": "", "10.1.2.3:1": "", "[fd00::1]:1": "", "169.254.1.1:1": "", "@": "", "": "",
	} {
		is := is.New(t)
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr = remote
		is.Equal(Config{}.AddressKey(r), want)
	}
	is := is.New(t)
	told := Config{ClientIP: func(*http.Request) netip.Addr { return netip.MustParseAddr("10.0.0.1") }}
	is.Equal(told.AddressKey(httptest.NewRequest("GET", "/", nil)), "address:10.0.0.1")
	unknown := Config{ClientIP: func(*http.Request) netip.Addr { return netip.Addr{} }}
	is.Equal(unknown.AddressKey(httptest.NewRequest("GET", "/", nil)), "")
}
