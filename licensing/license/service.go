package license

import (
	"context"
	"log/slog"
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

	// OnceTTL is how long [Service.Once] keeps a reply. Default: 24 hours.
	OnceTTL time.Duration

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

	// AllowPrivateWebhooks lets the addresses of webhooks be plain http.
	// Which addresses are called is the affair of whoever sends. Default:
	// https only.
	AllowPrivateWebhooks bool

	// ExpiryNotices are how long before a license's ExpiresAt
	// [Service.GiveNotices] appends "license.expiring". Default: 30, 7 and
	// 1 days; empty but not nil: never.
	ExpiryNotices []time.Duration

	// EventRetention is how long [Service.PurgeHistory] leaves events; those
	// that a subscriber has yet to get stay longer, and those that an active
	// webhook has yet to get up to five days longer. Default:
	// for ever.
	EventRetention time.Duration

	// DeliveryRetention is how long it leaves deliveries that are over.
	// Default: 30 days.
	DeliveryRetention time.Duration
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
	if opts.OnceTTL <= 0 {
		opts.OnceTTL = 24 * time.Hour
	}
	const day = 24 * time.Hour
	if opts.DeliveryRetention <= 0 {
		opts.DeliveryRetention = 30 * day
	}
	if opts.ExpiryNotices == nil {
		opts.ExpiryNotices = []time.Duration{30 * day, 7 * day, day}
	}
	return &Service{st: st, opts: opts}
}

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
