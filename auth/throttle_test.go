package auth

import (
	"fmt"
	"net/http"
	"net/netip"
	"testing"
	"time"

	"github.com/matryer/is"
)

func TestThrottle(t *testing.T) {
	here, there := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")

	t.Run("a key has its failures at once, and then one an interval", func(t *testing.T) {
		is := is.New(t)
		th := newThrottle(20, time.Minute)
		for range 20 {
			is.Equal(th.fail("a", here, start), 0*time.Second)
		}
		is.Equal(th.fail("a", here, start), 3*time.Second)
		is.Equal(th.fail("a", here, start.Add(time.Second)), 2*time.Second) // going on does not prolong it
		is.Equal(th.fail("a", here, start.Add(3*time.Second)), 0*time.Second)
		is.Equal(th.fail("a", here, start.Add(3*time.Second)), 3*time.Second)
		is.Equal(th.fail("b", here, start), 0*time.Second)  // another client
		is.Equal(th.fail("a", there, start), 0*time.Second) // another source
		for range 20 {
			is.Equal(th.fail("a", here, start.Add(time.Hour)), 0*time.Second)
		}
	})
	t.Run("a clock set back does not lock anyone out", func(t *testing.T) {
		is := is.New(t)
		th := newThrottle(2, time.Minute)
		for range 3 {
			th.fail("a", here, start)
		}
		is.Equal(th.fail("a", here, start.Add(-24*time.Hour)), 0*time.Second)
	})
	t.Run("a source of IPv6 is its network", func(t *testing.T) {
		is := is.New(t)
		th := newThrottle(1, time.Minute)
		is.Equal(th.fail("a", netip.MustParseAddr("2001:db8::1"), start), 0*time.Second)
		is.True(th.fail("a", netip.MustParseAddr("2001:db8::ffff:2"), start) > 0)
		is.Equal(th.fail("a", netip.MustParseAddr("2001:db8:0:1::1"), start), 0*time.Second)
		is.Equal(th.fail("a", netip.MustParseAddr("::ffff:192.0.2.1"), start), 0*time.Second)
		is.True(th.fail("a", here, start) > 0) // the same address in IPv4
		is.Equal(th.fail("a", netip.Addr{}, start), 0*time.Second)
	})
	t.Run("it remembers a bounded number, and rather those who fail most", func(t *testing.T) {
		is := is.New(t)
		th := newThrottle(20, time.Minute)
		for range 21 {
			th.fail("a", here, start)
		}
		for i := range 2 * maxKeys {
			th.fail(fmt.Sprint(i), here, start)
		}
		is.Equal(len(th.paid), maxKeys)
		is.True(th.fail("a", here, start) > 0)
	})
}

func TestFailuresAreCountedByClientIP(t *testing.T) {
	is := is.New(t)
	s := newIssuer(t, func(o *Options) {
		o.Tokens.MaxFailures = 2
		o.ClientIP = func(r *http.Request) netip.Addr { a, _ := netip.ParseAddr(r.Header.Get("X-Real")); return a }
	})
	fail := func(from string) int {
		return s.send(t, "GET", "/oauth/token?client_id="+s.client.ID, "", "X-Real: "+from).status
	}
	is.Equal([]int{fail("192.0.2.1"), fail("192.0.2.1"), fail("192.0.2.1"), fail("192.0.2.2")}, []int{401, 401, 429, 401})
	is.Equal(s.ask(t, s.client.ID, s.secret).status, 200) // a right secret gets in
	s.turn(30 * time.Second)
	is.Equal([]int{fail("192.0.2.1"), fail("192.0.2.1")}, []int{401, 429})
}
