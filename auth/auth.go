package auth

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/rate"
	"github.com/seed-d8a106b4/licensekit/internal/valid"
	"github.com/seed-d8a106b4/licensekit/store"
)

// Options configures an [Auth]. The zero value is secure and useful.
type Options struct {
	// Now returns the current time, which is truncated to milliseconds.
	// Default: [time.Now].
	Now func() time.Time

	// Logger receives failures of the store. It never receives a secret, a
	// token or a query. Default: [slog.Default].
	Logger *slog.Logger `validate:"-"`

	// Realm is the realm in WWW-Authenticate challenges: up to 100 printable
	// ASCII characters without quotation mark and backslash. Default:
	// "licensing".
	Realm string `validate:"max=100,realm"`

	// Tokens configure access tokens and the OAuth endpoints.
	Tokens TokenOptions

	// ClientIP returns the address of the caller. It is used only to throttle
	// failed authentications. Set it behind a proxy. Default: the address of
	// the connection.
	ClientIP func(*http.Request) netip.Addr

	// Limit is called with the ID of each client that has authenticated at an
	// OAuth endpoint. If it returns a positive duration, the answer is 429
	// with that duration in Retry-After. Default: no limit.
	Limit func(ctx context.Context, clientID string) (wait time.Duration)

	// Fail answers a request that [Auth.RequireScope] refuses; the error is
	// an [*Error]. Default: a problem document (RFC 9457).
	Fail func(http.ResponseWriter, *http.Request, error)
}

// TokenOptions configure access tokens and the OAuth endpoints.
type TokenOptions struct {
	// TTL is how long an access token is valid, in whole seconds: one minute
	// to 24 hours. Default: one hour.
	TTL time.Duration `validate:"omitempty,min=1m,max=24h"`

	// DisableGET disables GET on the token endpoint, where the client secret
	// is in the query. The specification of the service requires GET, so it
	// is enabled by default; new programs should use POST.
	DisableGET bool

	// Max is the number of valid tokens that one client can have: 1 to
	// 10,000. A further token ends the oldest. Default: 1,000.
	Max int `validate:"omitempty,min=1,max=10000"`

	// MaxFailures is how many times per minute one client ID can fail to
	// authenticate from one address before it must wait: 1 to 1,000. Some
	// OAuth libraries try a wrong secret twice. The right secret works at any
	// time. Operators get as many failed sign-ins per minute and address.
	// Default: 20.
	MaxFailures int `validate:"omitempty,min=1,max=1000"`

	// MaxBody is the maximum size in bytes of the body of a request to an
	// OAuth endpoint: at least 1,024. Default: 16,384.
	MaxBody int64 `validate:"omitempty,min=1024"`
}

// Validate returns an [*api.InvalidError] that lists the invalid options, or nil.
func (o Options) Validate() error {
	return invalid(o, func(f valid.Fault) string { return "Options." + f.Path })
}

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
		o.ClientIP = rate.Peer
	}
	return o
}

// Auth manages clients and their tokens. It is safe for concurrent use.
type Auth struct {
	//lint:ignore U1000 see internals.go
	inside
	st     store.Store
	opts   Options
	caller Caller

	cache    *tokenCache
	failures *rate.Limiter // failed authentications of clients
	groups   *issueGroups
	clients  *clientCache

	seen func(r *http.Request, clientID string, failed error) // see internals.Observe
}

// New returns an Auth that stores its records in st. It does no I/O and starts
// no goroutine. It panics if st is nil or an option is invalid; see
// [Options.Validate].
func New(st store.Store, opts Options) *Auth {
	if st == nil {
		panic("auth: New needs a store")
	}
	if err := opts.Validate(); err != nil {
		panic("auth: " + err.Error())
	}
	opts = opts.withDefaults()
	a := &Auth{
		st:       st,
		opts:     opts,
		cache:    newTokenCache(),
		failures: rate.New(opts.Tokens.MaxFailures, time.Minute, opts.Tokens.MaxFailures),
		groups:   newIssueGroups(opts.Tokens.Max),
		clients:  newClientCache(),
		seen:     func(*http.Request, string, error) {},
	}
	if opts.Fail == nil {
		a.opts.Fail = a.fail
	}
	return a
}

// A Caller is the actor of a change, as events name it.
type Caller struct {
	Actor     string // such as "operator:opr_…"; empty: "go"
	RequestID string // the ID of the request that makes the change, if any
}

// As returns an Auth that names c in the events of its changes. It shares
// everything else with a.
func (a *Auth) As(c Caller) *Auth {
	b := *a
	b.caller = c
	return &b
}

// now returns the current time in UTC, truncated to milliseconds, the precision of the store.
func (a *Auth) now() time.Time { return a.opts.Now().UTC().Truncate(time.Millisecond) }
