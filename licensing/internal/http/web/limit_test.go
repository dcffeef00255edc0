package web

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/require"
)

func TestARateLetsABurstThroughAndThenTheRate(t *testing.T) {
	is := is.New(t)
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	rate := NewRate(10, 3, func() time.Time { return now })
	ask := func() (time.Duration, bool) { return rate.Allow(t.Context(), "a") }
	for range 3 {
		_, ok := ask()
		is.True(ok)
	}
	wait, ok := ask()
	is.True(!ok)
	is.Equal(wait, 100*time.Millisecond)
	_, ok = rate.Allow(t.Context(), "b")
	is.True(ok) // another caller has a budget of its own

	now = now.Add(wait)
	_, ok = ask()
	is.True(ok)
	_, ok = ask()
	is.True(!ok)

	now = now.Add(time.Hour)
	for range 3 {
		_, ok = ask()
		is.True(ok)
	}
	_, ok = ask()
	is.True(!ok)
}

func TestARateForgivesAClockThatIsTurnedBack(t *testing.T) {
	is := is.New(t)
	now := time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)
	rate := NewRate(1, 1, func() time.Time { return now })
	_, ok := rate.Allow(t.Context(), "a")
	is.True(ok)
	now = now.AddDate(0, 0, -1)
	_, ok = rate.Allow(t.Context(), "a")
	is.True(ok)
	wait, ok := rate.Allow(t.Context(), "a")
	is.True(!ok)
	require.Greater(t, wait, 0)
	require.AtMost(t, wait, time.Second)
}

func TestARateIsBoundedAndRemembersWhoComesBack(t *testing.T) {
	is := is.New(t)
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	rate := NewRate(1, 1, func() time.Time { return now })
	rate.Allow(t.Context(), "a")
	for i := range maxCallers {
		rate.Allow(t.Context(), strconv.Itoa(i))
	}
	_, ok := rate.Allow(t.Context(), "a") // in the older generation by now
	is.True(!ok)
	for i := range 5 * maxCallers {
		rate.Allow(t.Context(), "x"+strconv.Itoa(i))
	}
	require.AtMost(t, len(rate.recent)+len(rate.older), 2*maxCallers)
}

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
		is.Equal((&Site{}).addressKey(r), want)
	}
	is := is.New(t)
	told := &Site{cfg: Config{ClientIP: func(*http.Request) netip.Addr { return netip.MustParseAddr("10.0.0.1") }}}
	is.Equal(told.addressKey(httptest.NewRequest("GET", "/", nil)), "address:10.0.0.1")
	unknown := &Site{cfg: Config{ClientIP: func(*http.Request) netip.Addr { return netip.Addr{} }}}
	is.Equal(unknown.addressKey(httptest.NewRequest("GET", "/", nil)), "")
}
