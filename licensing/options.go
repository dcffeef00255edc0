package licensing

import (
	"bytes"
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"time"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/auth/operator"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/files"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/licensing/webhook"
)

// Options configure a [Handler]. The zero value is secure and useful.
type Options struct {
	// Now returns the current time, for licenses, tokens and rate limits.
	// Default: [time.Now].
	Now func() time.Time

	// Logger gets what an operator should know; never a query, secret, token
	// or license key. Default: [slog.Default].
	Logger *slog.Logger `validate:"-"`

	// RequestLog gets a line for each request, at the level Info; at Debug for GET
	// /health and GET /ready, unless the status is 500 or above. To turn these lines
	// off, set it to slog.New(slog.DiscardHandler). Only the line of a request that was
	// refused has an address, client_ip; see Observation.ClientIP. Default: Logger.
	RequestLog *slog.Logger `validate:"-"`

	// PublicURL is the URL of the mounted handler as clients see it, such as
	// "https://example.com/licensing". Only the metadata of the
	// authorization server needs it; everything else works with relative
	// references. The dashboard has it in its examples, and otherwise the address
	// of the page. Default: none.
	PublicURL string `validate:"omitempty,mount"`

	// PortalURL is the URL of the pages of [Handler.Portal] as customers see it, such as
	// "https://example.com/account/licenses". Programs send customers there to be
	// activated in a browser; see [program.License.Link]. Default: none; a program cannot
	// be activated in a browser.
	PortalURL string `validate:"omitempty,mount"`

	// MasterKey encrypts secrets that must be stored in a usable form: those
	// of webhooks, the keys that sign license files, and the second factors of
	// operators. It has at least 32 random bytes, is the same in every
	// process, and is kept apart from the store. A key that is set later
	// encrypts what is stored afterwards, and the rest with
	// [Handler.ReencryptSecrets]. Default: none; the secrets are stored
	// unencrypted, and the log says so.
	MasterKey []byte `validate:"omitempty,min=32"`

	// PreviousMasterKeys decrypt what an earlier MasterKey encrypted, and
	// encrypt nothing. To replace the MasterKey, move the old one here, and
	// remove it after [Handler.ReencryptSecrets]. They need a MasterKey. Default: none.
	PreviousMasterKeys [][]byte `validate:"dive,min=32"`

	// SigningKeys are keys for license files whose private halves are not in
	// the store but in a KMS or an HSM, the same in every process. Default:
	// none; keys are generated and stored. See package files.
	SigningKeys []files.SigningKey `validate:"-"`

	// RecheckAfter is how long a program may rely on a verdict before it asks
	// again (recheck_after), and so how late it learns of a suspension. From a
	// minute to 24 hours. Default: one hour.
	RecheckAfter time.Duration `validate:"omitempty,min=1m,max=24h"`

	// MaxOffline is how long a license file for a license key holder is valid
	// at most, unless the license has offline_seconds. A license with
	// lease_seconds and without offline_seconds gets files of at most two leases.
	// From a minute to 10 years. Default: 14 days.
	MaxOffline time.Duration `validate:"omitempty,min=1m,max=87600h"`

	// HoldOffline keeps every seat that a license file holds until the file
	// has expired: except by force, its activation cannot be released or
	// evicted before. A license that gets its first limit counts the programs
	// whose activations were released before and that may still run. Only with
	// HoldOffline is max_activations the most programs that can run at a time.
	// Default: a held seat can be released, for as many seats at a time as the
	// license has, and at least three. Until their files expire, the programs of
	// those seats may run beside those of the others.
	HoldOffline bool

	// TimeZone is where the days begin of dates that people write and read: in CSV
	// files, in the ends of licenses on the dashboard, and on the customer pages. A
	// date is the last day of what ends. Times with hours on the dashboard are in UTC,
	// but for those of ends in forms; the API has instants only. Default: UTC.
	TimeZone *time.Location

	// FileIssuer is the iss of license files. Default: none.
	FileIssuer string `validate:"omitempty,text"`

	// ClientIP returns the address a request comes from. Set it behind a
	// proxy, and trust forwarding headers of that proxy only. The zero Addr
	// means that the address is unknown, and not limited. Default: the
	// address of the connection, which is not limited if it is private or
	// loopback, because it is then probably that of a proxy. Failed sign-ins
	// to the dashboard are limited for such an address too, so behind a
	// proxy one visitor can delay the sign-in of all others.
	ClientIP func(*http.Request) netip.Addr

	// AllowedOrigins are the origins, such as "https://app.example.com",
	// from which programs in browsers may call the API (CORS), except for
	// the OAuth endpoints. Default: none.
	AllowedOrigins []string `validate:"dive,origin"`

	// Observe is called after each request has been answered, and by
	// Handler.Run after each attempt to deliver to a webhook, each call of a
	// subscriber and each step of a background job, and for errors of the
	// store, for metrics and traces. It is called concurrently, never within
	// an Update of the store, on the goroutine of the request or the work,
	// which waits for it, so it must be quick. A panic in it is logged, and
	// changes no answer. Default: none.
	Observe func(context.Context, Observation)

	// BeforeCreate runs before a license is created. It may fill in fields of p (the
	// seats of a plan, an expiry), consult other systems, or refuse by returning an
	// error: one from [api.Invalid] reaches the caller as 422, any other is answered 500
	// or returned to Go code wrapped. It may change any part of p; the result is checked
	// again. An import does not call it.
	//
	// It runs outside of any Update, except if Go code creates a license inside
	// Atomically or Once: there it runs in their Update, once for each license and each
	// attempt, and holds the write lock. All other changes wait for it meanwhile, and it
	// must not use the store. Of concurrent requests with the same Idempotency-Key, each
	// may call it. Default: none.
	BeforeCreate func(context.Context, *api.CreateLicenseParams) error

	// EmailKey is the key of license metadata that has the email address of the
	// customer. License keys are mailed to it, customers who sign in by mail see the
	// licenses that have it, and the dashboard shows it; see package mail. A change
	// takes effect for existing licenses while Handler.Run is running. Default:
	// "email".
	EmailKey string

	// ClaimFrom are beginnings of customer IDs, such as "batch:", whose licenses no customer
	// has yet: who has the key of one can claim it, on the pages of [Handler.Portal], with
	// [license.Service.Claim] or POST /license/claim. Each ends with a colon. Do not name the
	// IDs of customers who are to keep their licenses when another person learns the key.
	// Default: none; no license can be claimed.
	ClaimFrom []string `validate:"dive,claim"`

	// ProductNames are the names of products for people, by product ID. Mails,
	// customer pages, the page that activates a program and the dashboard show them.
	// Default: the ID.
	ProductNames map[string]string

	// IdempotencyTTL is how long the response to a request with an
	// Idempotency-Key is stored and returned for the same request. At least
	// 24 hours. Default: 24 hours.
	IdempotencyTTL time.Duration `validate:"omitempty,min=24h"`

	// KeyHolderSeats lets license key holders list and release all
	// activations of their license (POST /license/activation, and POST
	// /license/deactivate with an activation_id). Releasing one's own
	// activation is always allowed. Default: operators and API clients only.
	KeyHolderSeats bool

	// Tokens configure access tokens and the OAuth endpoints.
	Tokens auth.TokenOptions

	// Limits bound what one caller or one request may use.
	Limits LimitOptions

	// Limiter replaces the rates of Limits, which are counted in the memory
	// of this process. Default: none.
	Limiter Limiter `validate:"-"`

	// Events configure the event feed, which is also the audit log.
	Events license.EventOptions

	// Subscribers are Go functions that receive the events of the feed.
	// Default: none.
	Subscribers []Subscriber `validate:"-"`

	// PollInterval is how often Run looks for events that other processes
	// wrote; changes in this process wake it immediately. From 10
	// milliseconds to a minute. Default: a second.
	PollInterval time.Duration `validate:"omitempty,min=10ms,max=1m"`

	// Webhooks configure webhooks and their deliveries.
	Webhooks webhook.Options

	// Dashboard configures the dashboard.
	Dashboard DashboardOptions
}

// LimitOptions bound what one caller or one request may use.
type LimitOptions struct {
	// ClientRate is how many requests a second an API client may make on
	// average, with bursts of twice as many. Requests to the OAuth endpoints
	// count too. Default: 1,000. Negative: no limit.
	ClientRate int

	// AddressRate is the same for requests without a valid access token, by
	// address (for IPv6, by /64 network). The dashboard has limits of its
	// own, and GET /health has none. Default: 50. Negative: no limit.
	AddressRate int

	// KeyRate is the same for requests with a license key, by the key, from
	// any address, which are limited by address too; and for the forms and the codes of
	// [Handler.Portal], by the customer. Default: 100. Negative: no limit. All programs of
	// an office have the same key, so an office does not limit its requests by the key.
	KeyRate int

	// MaxBody is the largest body of a request, in bytes; at least 1 KiB.
	// Default: 65,536.
	MaxBody int64 `validate:"omitempty,min=1024"`

	// MaxImport is the largest body of an import of licenses, in bytes; a
	// license takes about 400. It is held in memory, with up to twice its
	// size while it is read. A process runs up to 4 imports concurrently and
	// answers 429 to one more. At least 1 KiB. Default: 16,777,216.
	MaxImport int64 `validate:"omitempty,min=1024"`

	// BodyTimeout is how long a body may take to arrive, on a server without
	// a ReadTimeout; that of an import may take ten times as long. Default:
	// 10 seconds.
	BodyTimeout time.Duration `validate:"omitempty,min=1ms"`

	// Timeout is how long a request may take; an import, an export or a change of
	// a whole customer may take ten times as long. Default: 30 seconds.
	Timeout time.Duration `validate:"omitempty,min=1ms"`
}

// DashboardOptions configure the dashboard.
type DashboardOptions struct {
	// Operator returns who is signed in to the host application: an operator
	// with an ID, an e-mail address to show, and a role, which decides what
	// the operator may see and do. It returns false once it has answered the
	// request itself, for instance with a redirect to the host's sign-in; if
	// it has not, the answer is 500 and the log says so. Its answer does not
	// get the security headers of the dashboard. An operator without an ID,
	// with an unknown role, or with Disabled set gets 403, and the log says what is
	// wrong. Operator is called again, with a ResponseWriter that discards what it
	// gets, between the batches of a change or an import of many licenses. It
	// replaces the built-in sign-in with its operators and sessions. Default: the
	// built-in sign-in.
	Operator func(http.ResponseWriter, *http.Request) (operator.Operator, bool)

	// Origins are the origins, such as "https://admin.example.com", at which
	// browsers reach the dashboard if a proxy rewrites the Host header.
	// Forms sent from other origins are refused. Default: none.
	Origins []string `validate:"dive,origin"`

	// HomeURL is the URL of the host application, such as
	// "https://admin.example.com". The navigation links to it. Default: no
	// link.
	HomeURL string `validate:"omitempty,mount"`

	// SignOutURL is the URL at which the host application signs people out, or
	// asks them to confirm that, such as "https://admin.example.com/logout".
	// The navigation links to it if Operator is set. Default: no link.
	SignOutURL string `validate:"omitempty,mount"`

	// ConfigFile is the name of the configuration file in which the operators of a
	// ready-made program set the options, such as "licensekit.json". Pages then say so
	// where they name an option, and have no advice for Go code. Default: the pages
	// speak of the host application.
	ConfigFile string

	// RequireSecondFactor sends operators without a second factor from every page
	// to the one that sets it up. It is for the built-in sign-in, and so an error
	// with Operator. Default: a second factor is the choice of each operator.
	RequireSecondFactor bool

	// Mailer mails for the pages of a license and of a customer. The SignIn of package
	// licensing/mail is one. An operator may send 20 mails a minute. Default: the pages do not
	// have the action Mail a link, and only admins have Change email.
	Mailer interface {
		// MailLink mails a link to the customer pages to an address.
		MailLink(ctx context.Context, address string) error
		// MailChange mails to the former address of a customer which one support has replaced
		// it with.
		MailChange(ctx context.Context, former, address string) error
	}

	// MailsKeys says that a subscriber mails keys, such as the Keys of package licensing/mail.
	// Where an operator replaces the key of a license or transfers it, the pages then say to
	// which address the key is mailed. Default: they do not.
	MailsKeys bool
}

func (o Options) withDefaults() Options {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.RequestLog == nil {
		o.RequestLog = o.Logger
	}
	o.MasterKey, o.PreviousMasterKeys = bytes.Clone(o.MasterKey), slices.Clone(o.PreviousMasterKeys)
	for i, key := range o.PreviousMasterKeys {
		o.PreviousMasterKeys[i] = bytes.Clone(key)
	}
	o.Limits = o.Limits.withDefaults()
	return o
}

func (l LimitOptions) withDefaults() LimitOptions {
	l.ClientRate = cmp.Or(l.ClientRate, 1000)
	l.AddressRate = cmp.Or(l.AddressRate, 50)
	l.KeyRate = cmp.Or(l.KeyRate, 100)
	l.MaxBody = cmp.Or(l.MaxBody, 64<<10)
	l.MaxImport = cmp.Or(l.MaxImport, 16<<20)
	l.BodyTimeout = cmp.Or(l.BodyTimeout, 10*time.Second)
	l.Timeout = cmp.Or(l.Timeout, 30*time.Second)
	return l
}
