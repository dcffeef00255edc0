package operator

import (
	"net/http"
	"net/netip"
	"time"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/internal/rate"
	"github.com/seed-d8a106b4/licensekit/store"
)

// A Service manages operators, their invitations and their sessions. It is
// safe for concurrent use. Handler.Operators of package licensing returns one.
type Service struct {
	//lint:ignore U1000 see internals.go
	inside
	st       store.Store
	opts     inner.Config
	clientIP func(*http.Request) netip.Addr
	caller   auth.Caller

	failures     *rate.Limiter // failed sign-ins and wrong codes, by address
	signIns      *inFlight
	signInEvents *rate.Limiter // events of failed sign-ins
}

// As returns a Service that names c as the actor in the events of what it
// changes. It shares everything else with s.
func (s *Service) As(c auth.Caller) *Service {
	b := *s
	b.caller = c
	return &b
}

// asOperator returns a Service that acts as the operator with that ID.
func (s *Service) asOperator(id string) *Service {
	return s.As(auth.Caller{Actor: "operator:" + id, RequestID: s.caller.RequestID})
}

// now returns the current time in UTC, truncated to milliseconds, the precision of the store.
func (s *Service) now() time.Time { return s.opts.Now().UTC().Truncate(time.Millisecond) }
