package auth

import (
	"net/http"
	"net/netip"
	"testing"
	"time"

	"github.com/matryer/is"
)

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
	is.Equal(s.ask(t, s.client.ID, s.secret).status, 200) // the right secret works
	s.turn(30 * time.Second)
	is.Equal([]int{fail("192.0.2.1"), fail("192.0.2.1")}, []int{401, 429})
}
