package auth

import (
	"context"
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

	// Logger is told of failures of the store, and the set-up code of
	// [Auth.OfferSetup]; nil: [slog.Default]. No secret, token or query ever
	// reaches it.
	Logger *slog.Logger `validate:"-"`

	// TokenTTL is how long an access token lives, in whole seconds: one
	// minute to 24 hours; zero: one hour.
	TokenTTL time.Duration `validate:"omitempty,min=1m,max=24h"`

	// Realm is named in challenges: printable ASCII without quotation mark
	// and backslash; empty: "licensing".
	Realm string `validate:"max=100,realm"`

	// DisableTokenGET turns off GET on the token endpoint, which carries
	// the client secret in the query. It is on by default because the
	// interface is specified with it; new programs should use POST.
	DisableTokenGET bool

	// MaxTokens is how many live tokens one client can have, up to 10,000.
	// One more ends the oldest; if it is over 100, the oldest hundredth part
	// of them, so that counting is not needed each time; of several processes
	// that share a store, each may exceed the limit by that part for a while.
	// Zero: 1,000.
	MaxTokens int `validate:"omitempty,min=1,max=10000"`

	// MaxFailures is how many times a minute one client id can fail to
	// authenticate from one address before it is told to wait, up to 1,000;
	// zero: 20. Some OAuth libraries try a wrong secret twice. A right
	// secret is let in at any time. People get as many failed sign-ins per
	// minute and address, and as many wrong codes.
	MaxFailures int `validate:"omitempty,min=1,max=1000"`

	// MaxBody is how many bytes the body of a request to an OAuth endpoint
	// may have, from 1 KiB; zero: 16,384.
	MaxBody int64 `validate:"omitempty,min=1024"`

	// ClientIP returns the address a request comes from; nil: that of the
	// connection. Set it behind a proxy: without it all operators share the
	// proxy's address, and the failed sign-ins of one delay the others. It
	// serves to slow down those who fail to authenticate and to tell of them
	// in events, and nothing else.
	ClientIP func(*http.Request) netip.Addr

	// Limit is called with the id of each client that has authenticated at
	// an OAuth endpoint. If it returns more than zero, the client has to
	// wait that long: the answer is 429. nil: no limit.
	Limit func(ctx context.Context, clientID string) (wait time.Duration)

	// Fail answers a request that [Auth.RequireScope] refuses; the error is
	// an [*Error]. nil: a small problem document (RFC 9457).
	Fail func(http.ResponseWriter, *http.Request, error)
}

// Validate reports the options that are out of their bounds, by name.
func (o Options) Validate() error { return check(o) }

func (o Options) withDefaults() Options {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.TokenTTL == 0 {
		o.TokenTTL = time.Hour
	}
	o.TokenTTL = o.TokenTTL.Truncate(time.Second)
	if o.Realm == "" {
		o.Realm = "licensing"
	}
	if o.MaxTokens == 0 {
		o.MaxTokens = 1000
	}
	if o.MaxFailures == 0 {
		o.MaxFailures = 20
	}
	if o.MaxBody == 0 {
		o.MaxBody = 16 << 10
	}
	if o.ClientIP == nil {
		o.ClientIP = peer
	}
	return o
}

// peer returns the address of the other end of the connection.
func peer(r *http.Request) netip.Addr {
	ap, _ := netip.ParseAddrPort(r.RemoteAddr)
	return ap.Addr()
}

// Auth looks after clients and their tokens. It is safe for concurrent use.
type Auth struct {
	st     store.Store
	opts   Options
	caller Caller

	failures     *throttle
	signIns      *inFlight
	signInEvents *throttle // of failures
	purges       *pacer    // of expired tokens
	recounts     *rounds   // of a client's tokens, when it is issued one
}

// New returns an Auth that keeps its records in st. It does no I/O and starts
// no goroutine. It panics if st is nil or an option is out of its bounds;
// [Options.Validate] tells beforehand.
func New(st store.Store, opts Options) *Auth {
	if st == nil {
		panic("auth: New needs a store")
	}
	if err := opts.Validate(); err != nil {
		panic("auth: " + err.Error())
	}
	opts = opts.withDefaults()
	a := &Auth{
		st:           st,
		opts:         opts,
		failures:     newThrottle(opts.MaxFailures, time.Minute),
		signIns:      newInFlight(maxWaiting),
		signInEvents: newThrottle(maxSignInEvents, time.Hour),
		purges:       &pacer{every: time.Second},
		recounts:     newRounds(max(1, opts.MaxTokens/100)),
	}
	if opts.Fail == nil {
		a.opts.Fail = a.fail
	}
	return a
}

// A Caller is who acts, as events will name it.
type Caller struct {
	Actor     string // such as "operator:opr_…"; empty: "go", or "anonymous" for a failed sign-in
	RequestID string // the request it acts by, if any
}

// As returns an Auth that writes c into the events of what it changes. It
// shares everything else with a.
func (a *Auth) As(c Caller) *Auth {
	b := *a
	b.caller = c
	return &b
}

// asOperator returns an Auth that acts as the operator with that id.
func (a *Auth) asOperator(id string) *Auth {
	return a.As(Caller{Actor: "operator:" + id, RequestID: a.caller.RequestID})
}

// now returns the time as it is kept: to the millisecond, in UTC.
func (a *Auth) now() time.Time { return a.opts.Now().UTC().Truncate(time.Millisecond) }
