package operator

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"time"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/auth/internal/throttle"
	"github.com/seed-d8a106b4/licensekit/store"
)

// Options configures a [Service]. The zero value is secure and useful.
type Options struct {
	// Now returns the current time, which is truncated to milliseconds.
	// Default: [time.Now].
	Now func() time.Time

	// Logger receives the setup code of [Service.NeedsSetup], and nothing
	// else. Default: [slog.Default].
	Logger *slog.Logger

	// MaxFailures is the number of failed sign-ins, and of wrong codes, per
	// minute and address: 1 to 1,000. Default: 20.
	MaxFailures int

	// ClientIP returns the address of the client. Set it behind a proxy:
	// otherwise all operators share the address of the proxy, and the failed
	// sign-ins of one delay the others. The address is used to throttle
	// failed attempts, and events about them contain it. Default: the address
	// of the connection.
	ClientIP func(*http.Request) netip.Addr

	// MasterKey encrypts the secrets of second factors: at least 32 random
	// bytes. Without it, they are stored in plain text. Default: none.
	MasterKey []byte

	// PreviousMasterKeys decrypt what an earlier MasterKey encrypted. A secret
	// is encrypted with the current key at the next sign-in. Default: none.
	PreviousMasterKeys [][]byte
}

func (o Options) withDefaults() Options {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.MaxFailures == 0 {
		o.MaxFailures = throttle.DefaultFailures
	}
	if o.ClientIP == nil {
		o.ClientIP = throttle.Peer
	}
	return o
}

// A Service manages operators, their invitations and their sessions. It is
// safe for concurrent use.
type Service struct {
	st     store.Store
	opts   Options
	caller auth.Caller

	failures     *throttle.Throttle // failed sign-ins and wrong codes, by address
	signIns      *inFlight
	signInEvents *throttle.Throttle // events of failed sign-ins
}

// New returns a Service that stores its records in st. It does no I/O and
// starts no goroutine. It panics if st is nil or MaxFailures is out of range.
//
// A host that serves the dashboard does not call it: the handler has a
// Service already.
func New(st store.Store, opts Options) *Service {
	if st == nil {
		panic("operator: New needs a store")
	}
	opts = opts.withDefaults()
	if opts.MaxFailures < 1 || opts.MaxFailures > 1000 {
		panic(fmt.Sprintf("operator: Options.MaxFailures must be between 1 and 1,000, or zero for 20; it is %d", opts.MaxFailures))
	}
	return &Service{
		st:           st,
		opts:         opts,
		failures:     throttle.New(opts.MaxFailures, time.Minute),
		signIns:      newInFlight(maxWaiting),
		signInEvents: throttle.New(maxSignInEvents, time.Hour),
	}
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
