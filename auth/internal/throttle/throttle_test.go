package throttle

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/require"
)

func TestThrottle(t *testing.T) {
	start := time.Date(2026, 1, 2, 3, 4, 5, 678_000_000, time.UTC)
	here, there := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")

	t.Run("a key may fail n times, and then once per interval", func(t *testing.T) {
		is := is.New(t)
		th := New(20, time.Minute)
		for range 20 {
			is.Equal(th.Fail("a", here, start), 0*time.Second)
		}
		is.Equal(th.Fail("a", here, start), 3*time.Second)
		is.Equal(th.Fail("a", here, start.Add(time.Second)), 2*time.Second) // further failures do not extend the wait
		is.Equal(th.Fail("a", here, start.Add(3*time.Second)), 0*time.Second)
		is.Equal(th.Fail("a", here, start.Add(3*time.Second)), 3*time.Second)
		is.Equal(th.Fail("b", here, start), 0*time.Second)  // another client
		is.Equal(th.Fail("a", there, start), 0*time.Second) // another source
		for range 20 {
			is.Equal(th.Fail("a", here, start.Add(time.Hour)), 0*time.Second)
		}
	})
	t.Run("a clock set back does not lock anyone out", func(t *testing.T) {
		is := is.New(t)
		th := New(2, time.Minute)
		for range 3 {
			th.Fail("a", here, start)
		}
		is.Equal(th.Fail("a", here, start.Add(-24*time.Hour)), 0*time.Second)
	})
	t.Run("an IPv6 source is its /64 network", func(t *testing.T) {
		is := is.New(t)
		th := New(1, time.Minute)
		is.Equal(th.Fail("a", netip.MustParseAddr("2001:db8::1"), start), 0*time.Second)
		require.Greater(t, th.Fail("a", netip.MustParseAddr("2001:db8::ffff:2"), start), 0)
		is.Equal(th.Fail("a", netip.MustParseAddr("2001:db8:0:1::1"), start), 0*time.Second)
		is.Equal(th.Fail("a", netip.MustParseAddr("::ffff:192.0.2.1"), start), 0*time.Second)
		require.Greater(t, th.Fail("a", here, start), 0) // the same address in IPv4
		is.Equal(th.Fail("a", netip.Addr{}, start), 0*time.Second)
	})
	t.Run("it keeps a bounded number of keys, and prefers those with many failures", func(t *testing.T) {
		is := is.New(t)
		th := New(20, time.Minute)
		for range 21 {
			th.Fail("a", here, start)
		}
		for i := range 2 * maxKeys {
			th.Fail(fmt.Sprint(i), here, start)
		}
		is.Equal(len(th.paid), maxKeys)
		require.Greater(t, th.Fail("a", here, start), 0)
	})
}
