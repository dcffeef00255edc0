package rate

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
)

func TestLimiter(t *testing.T) {
	start := time.Date(2026, 1, 2, 3, 4, 5, 678_000_000, time.UTC)

	t.Run("a key has a burst, and then one call per interval", func(t *testing.T) {
		is := is.New(t)
		l := New(20, time.Minute, 20)
		for range 20 {
			is.Equal(l.Take("a", start), 0*time.Second)
		}
		is.Equal(l.Take("a", start), 3*time.Second)
		is.Equal(l.Take("a", start.Add(time.Second)), 2*time.Second) // further calls do not extend the wait
		is.Equal(l.Take("a", start.Add(3*time.Second)), 0*time.Second)
		is.Equal(l.Take("a", start.Add(3*time.Second)), 3*time.Second)
		is.Equal(l.Take("b", start), 0*time.Second) // another key
		for range 20 {
			is.Equal(l.Take("a", start.Add(time.Hour)), 0*time.Second)
		}
		is.Equal(l.Take("a", start.Add(time.Hour)), 3*time.Second)
	})
	t.Run("the burst may differ from the rate", func(t *testing.T) {
		is := is.New(t)
		l := New(10, time.Second, 3)
		for range 3 {
			is.Equal(l.Take("a", start), 0*time.Second)
		}
		is.Equal(l.Take("a", start), 100*time.Millisecond)
	})
	t.Run("a call that was taken back does not count", func(t *testing.T) {
		is := is.New(t)
		l := New(1, time.Minute, 1)
		l.Take("a", start)
		l.Return("a")
		is.Equal(l.Take("a", start), 0*time.Second)
		is.Equal(l.Take("a", start), time.Minute)
	})
	t.Run("a clock set back does not lock anyone out", func(t *testing.T) {
		is := is.New(t)
		l := New(2, time.Minute, 2)
		for range 3 {
			l.Take("a", start)
		}
		is.Equal(l.Take("a", start.Add(-24*time.Hour)), 0*time.Second)
		is.Equal(l.Take("a", start.Add(-24*time.Hour)), 0*time.Second)
		is.Equal(l.Take("a", start.Add(-24*time.Hour)), 30*time.Second)
	})
	t.Run("it keeps a bounded number of keys, and prefers those with many calls", func(t *testing.T) {
		is := is.New(t)
		l := New(20, time.Minute, 20)
		for range 21 {
			l.Take("a", start)
		}
		for i := range 2 * maxKeys {
			l.Take(fmt.Sprint(i), start)
		}
		is.Equal(len(l.paid), maxKeys)
		require.Greater(t, l.Take("a", start), 0)
	})
}

func TestSource(t *testing.T) {
	for addr, want := range map[string]string{
		"192.0.2.1":        "192.0.2.1",
		"::ffff:192.0.2.1": "192.0.2.1",
		"2001:db8:1:2::1":  "2001:db8:1:2::",
		"fe80::1%eth0":     "fe80::",
	} {
		is.New(t).Equal(Source(netip.MustParseAddr(addr)).String(), want)
	}
	is.New(t).Equal(Source(netip.Addr{}), netip.Addr{})
}
