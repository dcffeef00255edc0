package auth

import (
	"log/slog"
	"net/http"
	"net/netip"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

// Options sets up an [Auth]. The zero value is secure and useful.
type Options struct {
	// Now is the clock; nil: [time.Now]. What it returns is cut to the
	// millisecond, in UTC.
	Now func() time.Time

	// Logger is told of failures of the store; nil: [slog.Default]. No
	// secret, token or query ever reaches it.
	Logger *slog.Logger

	// TokenTTL is how long an access token lives: whole seconds from one
	// minute to 24 hours; zero: one hour.
	TokenTTL time.Duration

	// Realm is named in challenges; empty: "licensing".
	Realm string

	// DisableTokenGET turns off GET on the token endpoint, which carries
	// the client secret in the query. It is on by default because the
	// interface is specified with it.
	DisableTokenGET bool

	// MaxTokens is how many live tokens one client can have, up to 10,000;
	// one more ends the oldest. Zero: 1,000.
	MaxTokens int

	// ClientIP returns the address a request comes from; nil: that of the
	// connection. Set it behind a proxy. It serves to slow down those who
	// try secrets, and nothing else.
	ClientIP func(*http.Request) netip.Addr

	// Fail answers a request that [Auth.RequireScope] refuses; the error is
	// an [*Error]. nil: a small problem document (RFC 9457).
	Fail func(http.ResponseWriter, *http.Request, error)
}

// Validate reports the first option that is out of its bounds, by name.
func (o Options) Validate() error { return nil }

// Auth looks after clients and their tokens. It is safe for concurrent use.
type Auth struct {
	st     store.Store
	opts   Options
	caller Caller
}

// New returns an Auth that keeps its records in st. It does no I/O and starts
// no goroutine. It panics if st is nil or an option is out of its bounds;
// [Options.Validate] tells beforehand.
func New(st store.Store, opts Options) *Auth { return &Auth{st: st, opts: opts} }

// A Caller is who acts, as events will name it.
type Caller struct {
	Actor     string // such as "operator:opr_…"; empty: "go"
	RequestID string // the request it acts by, if any
}

// As returns an Auth that writes c into the events of what it changes. It
// shares everything else with a.
func (a *Auth) As(c Caller) *Auth {
	b := *a
	b.caller = c
	return &b
}
