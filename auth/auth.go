package auth

import (
	"cmp"
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

	// Realm is named in challenges: printable ASCII without quotation mark
	// and backslash; empty: "licensing".
	Realm string `validate:"max=100,realm"`

	// Tokens are about access tokens and the OAuth endpoints.
	Tokens TokenOptions

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

// TokenOptions are about access tokens and the OAuth endpoints.
type TokenOptions struct {
	// TTL is how long an access token is valid, in whole seconds: from a
	// minute to 24 hours. Default: an hour.
	TTL time.Duration `validate:"omitempty,min=1m,max=24h"`

	// DisableGET turns off GET on the token endpoint, which carries the
	// client secret in the query. It is on by default because the interface
	// is specified with it; new programs should use POST.
	DisableGET bool

	// Max is how many valid tokens a client can have, up to 10,000. One more
	// ends the oldest; if Max is over 100, the oldest hundredth part of
	// them, so that not every request counts them. Of several processes that
	// share a store, each may exceed Max by that part for a while. Default:
	// 1,000.
	Max int `validate:"omitempty,min=1,max=10000"`

	// MaxFailures is how many times a minute a client id can fail to
	// authenticate from one address before it has to wait, up to 1,000. Some
	// OAuth libraries try a wrong secret twice. A correct secret is always
	// accepted. Operators get as many failed sign-ins a minute and address.
	// Default: 20.
	MaxFailures int `validate:"omitempty,min=1,max=1000"`

	// MaxBody is the largest body of a request to an OAuth endpoint, in
	// bytes; at least 1 KiB. Default: 16,384.
	MaxBody int64 `validate:"omitempty,min=1024"`
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
	o.Tokens.TTL = cmp.Or(o.Tokens.TTL, time.Hour).Truncate(time.Second)
	o.Tokens.Max = cmp.Or(o.Tokens.Max, 1000)
	o.Tokens.MaxFailures = cmp.Or(o.Tokens.MaxFailures, 20)
	o.Tokens.MaxBody = cmp.Or(o.Tokens.MaxBody, 16<<10)
	if o.Realm == "" {
		o.Realm = "licensing"
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
		failures:     newThrottle(opts.Tokens.MaxFailures, time.Minute),
		signIns:      newInFlight(maxWaiting),
		signInEvents: newThrottle(maxSignInEvents, time.Hour),
		purges:       &pacer{every: time.Second},
		recounts:     newRounds(max(1, opts.Tokens.Max/100)),
	}
	if opts.Fail == nil {
		a.opts.Fail = a.fail
	}
	return a
}

// Options returns the options in force, with all defaults filled in.
func (a *Auth) Options() Options { return a.opts }

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
