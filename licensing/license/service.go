package license

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

// Options are the settings of a [Service]. The zero value is useful.
type Options struct {
	// Now tells the time. Its results are taken in UTC and cut to
	// milliseconds. Default: time.Now.
	Now func() time.Time

	// Logger gets what an operator should know and no caller is told.
	// License keys are never written to it. Default: slog.Default().
	Logger *slog.Logger

	// BeforeCreate runs before a license is created, never inside an
	// Update: it may fill in what p leaves open (the seats of a plan, an
	// expiry), look things up elsewhere, and refuse. An [*InvalidError],
	// which [Invalid] makes, is a refusal that the caller gets to read; any
	// other error is a failure, and the caller of Create gets it wrapped.
	// What it leaves in p is checked again. Import does not call it.
	// Default: none.
	BeforeCreate func(ctx context.Context, p *CreateParams) error

	// IdempotencyTTL is how long [Service.Once] keeps a reply. Default: 24 hours.
	IdempotencyTTL time.Duration

	// KeyHolderSeats lets whoever has a license's key list and release all
	// of its activations, for programs whose users look after their seats
	// themselves. Releasing its own, with Deactivate, is always allowed.
	// Default: operators and clients only.
	KeyHolderSeats bool

	// MasterKey seals the secrets of webhooks where they are kept: at least
	// 32 random bytes. Without it they are kept in clear. One that is set
	// later seals those made from then on; one that is replaced leaves those
	// it sealed unreadable, and nothing is sent to their webhooks until
	// each secret is rotated. Default: none.
	MasterKey []byte

	Events   EventOptions
	Webhooks WebhookOptions
}

// EventOptions are about the event feed.
type EventOptions struct {
	// ExpiryNotices are how long before a license expires the event
	// "license.expiring" is appended, from a minute to 10 years; at the end
	// comes "license.expired". Each is appended at most once for a license,
	// while the handler's Run runs. After an interruption only the nearest
	// notice that became due is appended, and only "license.expired" after
	// the end. Default: 30, 7 and 1 days; empty but not nil: none before the
	// end.
	ExpiryNotices []time.Duration `validate:"dive,min=1m,max=87600h"`

	// Retention is how long events are kept, at least 24 hours. Events that
	// a subscriber has not received yet are kept longer, and those that an
	// active webhook has not received up to five days longer. A paused or
	// disabled webhook keeps nothing: what is removed meanwhile stays in its
	// history as skipped. Default: forever.
	Retention time.Duration `validate:"omitempty,min=24h"`
}

// WebhookOptions are about webhooks and their deliveries.
type WebhookOptions struct {
	// AllowPrivate lets webhooks use plain http and addresses on private
	// networks and on this machine, for tests, and where all who may create
	// webhooks are trusted with the network. Link-local addresses
	// (169.254.0.0/16, fe80::/10) and others that no receiver can have are
	// refused even so. Default: https and public addresses only, judged by
	// the address that is dialed, each time.
	AllowPrivate bool

	// Ports are the ports that webhooks may use. Default: any.
	Ports []int `validate:"dive,min=1,max=65535"`

	// Transport sends the requests instead, for instance through a proxy
	// that guards outgoing traffic. The rules above do not apply to it: it
	// decides which addresses it calls. Default: none.
	Transport http.RoundTripper `validate:"-"`

	// DeliveryRetention is how long finished deliveries are kept, at least
	// an hour. Default: 30 days.
	DeliveryRetention time.Duration `validate:"omitempty,min=1h"`
}

// A Service is the rules of licensing over a store. It is safe for concurrent
// use by many goroutines, but for the one handed to the function of
// [Service.Atomically] or [Service.Once], which belongs to that function.
type Service struct {
	st     store.Store
	opts   Options
	caller Caller
	tx     *transaction // set inside Atomically and Once
	holder bool         // acts for whoever has the key of the license at hand
}

// New returns the rules over st. It does no I/O and starts no goroutine.
func New(st store.Store, opts Options) *Service {
	if st == nil {
		panic("license: New needs a store, such as sqlite.Open or memory.New returns")
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Logger == nil {
		opts.Logger = slog.Default()
	}
	if opts.IdempotencyTTL <= 0 {
		opts.IdempotencyTTL = 24 * time.Hour
	}
	const day = 24 * time.Hour
	if opts.Webhooks.DeliveryRetention <= 0 {
		opts.Webhooks.DeliveryRetention = 30 * day
	}
	if opts.Events.ExpiryNotices == nil {
		opts.Events.ExpiryNotices = []time.Duration{30 * day, 7 * day, day}
	}
	return &Service{st: st, opts: opts}
}

// Options returns the options in force, with all defaults filled in.
func (s *Service) Options() Options { return s.opts }

// A Caller is on whose behalf a Service acts.
type Caller struct {
	// Actor is written into events and scopes the keys of [Service.Once]:
	// "client:cid_…", "operator:opr_…". Empty: "go".
	Actor string
	// RequestID is written into events.
	RequestID string
	// Products limits what exists for the caller: nil means all products,
	// anything else only those named. A license of another product is
	// [ErrNotFound], is absent from lists, and cannot be created.
	Products []string
}

// As returns a Service on the same store that acts for c. It may be called
// inside Atomically and Once, and then stays in their Update.
func (s *Service) As(c Caller) *Service {
	as := *s
	as.caller = c
	return &as
}

// sees reports whether licenses of that product exist for the caller.
func (s *Service) sees(productID string) bool {
	if s.caller.Products != nil && !slices.Contains(s.caller.Products, productID) {
		return false
	}
	if s.tx != nil {
		s.tx.note(productID)
	}
	return true
}
