package operator

//lint:file-ignore U1000 package inner reaches these methods through a promoted method, which the check does not see.

import (
	"net/http"
	"net/netip"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/internal/rate"
)

// inside leads the other packages of this module to the methods of internals,
// with [inner.Of].
type inside = inner.Methods[internals]

// internals are the methods of a Service for the handler and the dashboard: what needs the
// cookie of a person who signs in, and housekeeping.
//
// The cookie has no Path, so a browser limits it to the folder of the page that set it:
// call the methods with a ResponseWriter only on pages of one folder, and Session anywhere
// below it.
type internals struct{ *Service }

// Of returns the methods for s.
func (internals) Of(s *Service) internals { return internals{s} }

// Init makes a zero Service ready. An address may fail maxFailures times per
// minute, with a wrong password or a wrong code. clientIP returns the address of
// the client; nil: that of the connection. Init does no I/O and starts no
// goroutine.
func (i internals) Init(c inner.Config, maxFailures int, clientIP func(*http.Request) netip.Addr) {
	if clientIP == nil {
		clientIP = rate.Peer
	}
	*i.Service = Service{
		st:           c.Store,
		opts:         c,
		clientIP:     clientIP,
		failures:     rate.New(maxFailures, time.Minute, maxFailures),
		signIns:      newInFlight(maxWaiting),
		signInEvents: rate.New(maxSignInEvents, time.Hour, maxSignInEvents),
	}
}
