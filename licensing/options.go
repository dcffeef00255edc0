package licensing

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/go-playground/validator/v10"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

// Options set up a [Handler]. The zero value is secure and useful.
type Options struct {
	// Now is the clock that licenses, tokens and limits are judged by.
	// Default: [time.Now].
	Now func() time.Time

	// Logger gets one line for each request, and what an operator should
	// know; no query, secret, token or license key. Default: [slog.Default].
	Logger *slog.Logger `validate:"-"`

	// PublicURL is where the world finds the mounted handler, such as
	// "https://example.com/licensing". It is needed for what cannot be said
	// with a relative reference: the metadata of the authorization server.
	// Everything else works without. Default: none.
	PublicURL string `validate:"omitempty,mount"`

	// TokenTTL is how long an access token lives: from a minute to 24
	// hours, in whole seconds. Default: an hour.
	TokenTTL time.Duration `validate:"omitempty,min=1m,max=24h"`

	// DisableTokenGET turns off GET /oauth/token, by which a client may
	// send its secret in the query. It is on by default because the
	// interface is specified with it.
	DisableTokenGET bool

	// MaxTokens is how many live access tokens one client can have, up to
	// 10,000; one more ends the oldest. Default: 1,000.
	MaxTokens int `validate:"omitempty,min=1,max=10000"`

	// MaxTokenFailures is how often in a minute a client can be refused at
	// the token endpoint from one address before it is told to wait, up to
	// 1,000. A right secret is let in at any time. The dashboard allows as
	// many failed sign-ins a minute from one address. Default: 20.
	MaxTokenFailures int `validate:"omitempty,min=1,max=1000"`

	// ClientRate is how many requests a second one API client may make in
	// the long run, with bursts of twice as many. Requests to the OAuth
	// endpoints count too. Default: 1,000. Negative: no limit.
	ClientRate int

	// AddressRate is the same for requests to the API that need no access
	// token or come without a good one, by address (for IPv6, by /64
	// network). The dashboard has limits
	// of its own. Default: 50. Negative: no limit.
	AddressRate int

	// KeyRate is the same for requests with a license key, by the key:
	// those that validate, activate and deactivate, from wherever they
	// come. They are limited by address too. Default: 100. Negative: no
	// limit.
	KeyRate int

	// Limiter replaces the three limits above, which count in the memory of
	// this process. Default: none.
	Limiter Limiter `validate:"-"`

	// ClientIP returns the address a request comes from. Set it behind a
	// proxy, and take forwarding headers from that proxy only. The zero
	// Addr means that it is not known, and not limited. Default: the
	// address of the connection, which is not limited if it is private or
	// loopback, because it is then likely to be a proxy's. Failed sign-ins
	// to the dashboard are limited for such an address too, so behind a
	// proxy one visitor can delay the sign-in of all others.
	ClientIP func(*http.Request) netip.Addr

	// MaxBody is how many bytes the body of a request may have; from 1 KiB.
	// Default: 65,536.
	MaxBody int64 `validate:"omitempty,min=1024"`

	// MaxTokenBody is the same for requests to the OAuth endpoints.
	// Default: 16,384.
	MaxTokenBody int64 `validate:"omitempty,min=1024"`

	// MaxImport is how many bytes the body of an import of licenses may
	// have, in which one takes some 400; from 1 KiB. It is held in memory,
	// with up to twice its size while it is read. A process runs up to 4
	// imports concurrently and answers 503 to one more. Default: 16,777,216.
	MaxImport int64 `validate:"omitempty,min=1024"`

	// BodyTimeout is how long a body may take to arrive, on a server whose
	// ReadTimeout does not say. That of an import may take ten times as
	// long. Default: 10 seconds.
	BodyTimeout time.Duration `validate:"omitempty,min=1ms"`

	// Timeout is how long a request may take in all before it is given up,
	// and a tenth of what an import or an export may take. Default: 30
	// seconds.
	Timeout time.Duration `validate:"omitempty,min=1ms"`

	// ReplayTTL is how long the answer to a request with an
	// Idempotency-Key is kept, to be given again to the same request.
	// Default: 24 hours, which is also the least.
	ReplayTTL time.Duration `validate:"omitempty,min=24h"`

	// KeyHolderSeats lets whoever has a license's key list and release all
	// of its activations (POST /license/activation, and POST
	// /license/deactivate with an activation_id), for programs whose users
	// look after their seats themselves. Releasing its own seat is always
	// allowed. Default: operators and API clients only.
	KeyHolderSeats bool

	// AllowedOrigins are the origins, such as "https://app.example.com",
	// from which programs in browsers may call the API (CORS), with the
	// OAuth endpoints left out. Default: none.
	AllowedOrigins []string `validate:"dive,origin"`

	// Operator says who works in the dashboard, for a host that has a login
	// of its own: it returns the person, with an id, an e-mail address to
	// show and a role; or false once it has answered the request itself,
	// for instance by sending the person to its login. An operator without
	// an ID, with an unknown role, or with Disabled set gets 403, and the
	// log names the fault. The built-in sign-in, its operators and its
	// sessions are then off. Default: none.
	Operator func(http.ResponseWriter, *http.Request) (auth.Operator, bool)

	// DashboardOrigins are origins, such as "https://admin.example.com", by
	// which people reach the dashboard although the Host header does not
	// say so, because a proxy rewrites it. Forms sent from other origins
	// are refused. Default: none.
	DashboardOrigins []string `validate:"dive,origin"`

	// Observe is told of each request when it has been answered, for
	// metrics and traces. It is called on the request's goroutine, so it
	// must be quick. Default: none.
	Observe func(context.Context, Observation)

	// BeforeCreate runs before a license is created. It may fill in what
	// the request leaves open, and veto by returning an error; one from
	// [license.Invalid] reaches the caller as 422, any other is answered
	// 500. Default: none.
	BeforeCreate func(context.Context, *license.CreateParams) error

	// MasterKey seals what must be kept in a form that can be used, the
	// secrets of webhooks: at least 32 random bytes, the same on every
	// process, kept apart from the store. One that is set later seals what
	// is made from then on. Default: none; they are kept in clear, and the
	// log says so.
	MasterKey []byte `validate:"omitempty,min=32"`

	// Subscribers are Go code that gets the events of the feed. Default:
	// none.
	Subscribers []Subscriber `validate:"-"`

	// Webhooks say where webhooks may be.
	Webhooks WebhookOptions `validate:"-"`

	// ExpiryNotices are how long before a license expires the event
	// "license.expiring" tells of it, from a minute to 10 years; at the end
	// comes "license.expired". Each comes at most once for each license,
	// while Run runs. When Run resumes after a pause, only the nearest notice
	// that became due is given, and none but "license.expired" after the
	// end. Default: 30, 7 and 1 days; empty but not
	// nil: none before the end.
	ExpiryNotices []time.Duration `validate:"dive,min=1m,max=87600h"`

	// EventRetention is how long events are kept, from 24 hours; those that
	// a subscriber has yet to get are kept longer, and those that an active
	// webhook has yet to get up to five days longer. A paused or disabled
	// webhook keeps nothing: what is removed meanwhile stays in its history
	// as skipped. The feed is
	// also the audit log. Default: for ever.
	EventRetention time.Duration `validate:"omitempty,min=24h"`

	// DeliveryRetention is how long it is kept what was sent to webhooks,
	// from an hour. Default: 30 days.
	DeliveryRetention time.Duration `validate:"omitempty,min=1h"`

	// PollInterval is how often Run looks for events that other processes
	// and Go code wrote; a request to this process wakes it at once. From
	// 10 milliseconds to a minute. Default: a second.
	PollInterval time.Duration `validate:"omitempty,min=10ms,max=1m"`
}

// An Observation is what a request was, once it has been answered. Nothing in
// it is secret, and nothing in it comes from the query.
type Observation struct {
	Method    string        // "other" for a method that HTTP does not know
	Route     string        // the template of the path, such as "/license/{licenseID}"; empty: the path leads nowhere
	Status    int           // the HTTP status
	Duration  time.Duration // from the first line of the request to the end of the answer
	ClientID  string        // empty: none
	RequestID string        // as in X-Request-Id
}

// A Limiter bounds how often a caller may come. Take counts one request of
// the caller that key stands for, "client:" and its id, "address:" and its
// address, or "key:" and a digest of a license key, and returns true; or, if
// that is one too many, false and how long to wait. It is called from many
// goroutines. What it answers when it cannot reach whatever it counts in is
// its own choice.
type Limiter interface {
	Take(ctx context.Context, key string) (wait time.Duration, ok bool)
}

// mends say, for each option that can be wrong, what it must be.
var mends = map[string]string{
	"PublicURL":        `must be an absolute http or https URL without user, query and fragment, such as "https://example.com/licensing"`,
	"TokenTTL":         "must be from a minute to 24 hours, or zero for an hour",
	"MaxTokens":        "must be from 1 to 10,000, or zero for 1,000",
	"MaxTokenFailures": "must be from 1 to 1,000, or zero for 20",
	"MaxBody":          "must be at least 1,024 bytes, or zero for 65,536",
	"MaxTokenBody":     "must be at least 1,024 bytes, or zero for 16,384",
	"MaxImport":        "must be at least 1,024 bytes, or zero for 16,777,216",
	"BodyTimeout":      "must be positive, or zero for 10 seconds",
	"Timeout":          "must be positive, or zero for 30 seconds",
	"ReplayTTL":        "must be at least 24 hours, or zero for that",
	"AllowedOrigins":   mendOrigins,
	"DashboardOrigins": mendOrigins,

	"MasterKey":         "must be at least 32 bytes",
	"ExpiryNotices":     "must be from a minute to 10 years each",
	"EventRetention":    "must be at least 24 hours, or zero to keep events for ever",
	"DeliveryRetention": "must be at least an hour, or zero for 30 days",
	"PollInterval":      "must be from 10 milliseconds to a minute, or zero for a second",
}

const mendOrigins = `must be origins: a scheme and a host in lower case, such as "https://app.example.com", without a path; "*" is not allowed`

// mendEmptyKey is about a MasterKey that is empty but not nil.
const mendEmptyKey = "is empty but not nil: the variable or file it is read from is probably unset or empty; " +
	"set that to at least 32 random bytes, or leave MasterKey nil to keep webhook secrets unsealed"

// Validate reports every option that is out of its bounds, and the mend. It is
// for options that are read from somewhere: [NewHandler] panics with the same
// words.
func (o Options) Validate() error {
	var broken validator.ValidationErrors
	errors.As(optionChecker().Struct(o), &broken)
	var all []error
	seen := make(map[string]bool)
	for _, b := range broken {
		field, _, _ := strings.Cut(b.StructField(), "[") // without the index
		if !seen[field] {
			seen[field] = true
			mend := mends[field]
			if field == "MasterKey" && len(o.MasterKey) == 0 {
				mend = mendEmptyKey
			}
			all = append(all, fmt.Errorf("licensing: Options.%s %s", field, mend))
		}
	}
	return errors.Join(append(all, o.checkEvents()...)...)
}

var optionChecker = sync.OnceValue(func() *validator.Validate {
	v := validator.New(validator.WithRequiredStructEnabled())
	for tag, ok := range map[string]func(string) bool{"mount": isMount, "origin": isOrigin} {
		if err := v.RegisterValidation(tag, func(f validator.FieldLevel) bool { return ok(f.Field().String()) }); err != nil {
			panic(err)
		}
	}
	return v
})

// isMount reports whether s is an address that others can be built on.
func isMount(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != "" && u.User == nil &&
		u.RawQuery == "" && !u.ForceQuery && u.Fragment == ""
}

// isOrigin reports whether s is an origin as a browser writes it.
func isOrigin(s string) bool {
	u, err := url.Parse(s)
	return err == nil && u.Scheme != "" && u.Host != "" && u.Scheme+"://"+u.Host == s
}

func (o Options) withDefaults() Options {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	setDefault(&o.ClientRate, 1000)
	setDefault(&o.AddressRate, 50)
	setDefault(&o.KeyRate, 100)
	setDefault(&o.MaxBody, 64<<10)
	setDefault(&o.MaxImport, 16<<20)
	setDefault(&o.BodyTimeout, 10*time.Second)
	setDefault(&o.Timeout, 30*time.Second)
	return o
}

func setDefault[T comparable](option *T, value T) {
	var zero T
	if *option == zero {
		*option = value
	}
}
