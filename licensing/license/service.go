package license

import (
	"context"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/core/record"
	"github.com/seed-d8a106b4/licensekit/store"
)

// Options are the options of licensing.Options that the rules use, under the same names.
// That type describes them. The zero value has the defaults.
type Options struct {
	Now                func() time.Time
	Logger             *slog.Logger
	BeforeCreate       func(ctx context.Context, p *api.CreateLicenseParams) error
	IdempotencyTTL     time.Duration
	KeyHolderSeats     bool
	RecheckAfter       time.Duration
	MaxOffline         time.Duration
	HoldOffline        bool
	FileIssuer         string
	MasterKey          []byte
	PreviousMasterKeys [][]byte
	Events             EventOptions
}

// EventOptions configure the event feed.
type EventOptions struct {
	// ExpiryNotices are the times before ExpiresAt at which license.expiring
	// is appended, from a minute to 10 years. At ExpiresAt, license.expired
	// is appended. Each notice is appended at most once per license, while
	// the handler's Run is running. After an interruption, only the nearest
	// due notice is appended, and after expiry only license.expired.
	// Default: 30, 7 and 1 days; empty but not nil: license.expired only.
	ExpiryNotices []time.Duration `validate:"dive,min=1m,max=87600h"`

	// Retention is how long events are kept, at least 24 hours. Events that
	// a subscriber has not received are kept longer; events that an active
	// webhook has not received, up to five days longer. Paused and disabled
	// webhooks do not extend retention; the events they miss appear in their
	// history as skipped. The newest event is always kept. Default:
	// forever.
	Retention time.Duration `validate:"omitempty,min=24h"`
}

// A Service implements the licensing rules on top of a store. It is safe for
// concurrent use, except inside [Service.Atomically] and [Service.Once]: the
// Service passed to their function must be used only by that function.
type Service struct {
	//lint:ignore U1000 see internals.go
	inside
	st        store.Store
	opts      Options
	searching slot          // one search at a time
	searched  *atomic.Int64 // how long the searches of a request took; nil: each has its own time
	counts    *countCache
	pending   *pendingUsage
	onErase   func(ctx context.Context, st store.Store, events []store.Event) error // nil: nothing keeps answers
	caller    Caller
	tx        *transaction // set inside Atomically and Once
	holder    bool         // acts for a license key holder
	owner     *string      // the only customer whose licenses exist; nil: all customers
	hooks
}

// hooks are what follows from a call in rules that build on those of the call. New
// sets them; they are the same for all copies of a Service.
type hooks struct {
	// changed runs after each Update that has written a license, also if it failed.
	changed func()

	// observed runs after a Validate or an Activate that joined no Update, with its
	// verdict; of Activate, only after a refusal.
	observed func(ctx context.Context, v api.Verdict, c api.RefusedCall)

	// customerChanged runs in each Update that gives a license another customer, or
	// another ID of the same one, after the license is written.
	customerChanged func(ctx context.Context, tx *transaction, before, after record.License) error
}

// New returns a Service that uses st. It does no I/O and starts no goroutines.
// It panics if st is nil.
func New(st store.Store, opts Options) *Service {
	if st == nil {
		panic("license: New requires a store, such as one from sqlite.Open or memory.New")
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
	if opts.RecheckAfter <= 0 {
		opts.RecheckAfter = time.Hour
	}
	if opts.MaxOffline <= 0 {
		opts.MaxOffline = 14 * day
	}
	if opts.Events.ExpiryNotices == nil {
		opts.Events.ExpiryNotices = []time.Duration{30 * day, 7 * day, day}
	}
	s := &Service{st: st, opts: opts, searching: make(slot, 1), counts: newCountCache(), pending: newPendingUsage()}
	s.changed, s.observed, s.customerChanged = s.counts.drop, s.countVerdict, s.leaveCustomer
	return s
}

// Options returns the options in effect, with defaults filled in.
func (s *Service) Options() Options { return s.opts }

// A Caller identifies on whose behalf a Service acts.
type Caller struct {
	// Actor is recorded in events and scopes the keys of [Service.Once]:
	// "client:cid_…", "operator:opr_…". Empty: "go".
	Actor string
	// RequestID is recorded in events.
	RequestID string
	// Address is the network address of the client, recorded with refusals;
	// see [Service.Refusals]. Empty: unknown.
	Address string
	// Products limits the licenses that exist for the caller: nil means all
	// products, otherwise only those listed. A license of any other product
	// is [api.ErrNotFound], is missing from lists, and cannot be created.
	Products []string
	// MaskKeys hides license keys from the caller: of each key, only the last
	// four characters are returned, a search finds a license by its whole key
	// but not by a part of it, and an export has no keys.
	// Methods that take a key still accept it.
	MaskKeys bool
}

// As returns a Service on the same store that acts for c. It never lifts a limit
// of s: only products that both list exist for it, and keys that s masks stay
// masked. Inside Atomically or Once, its calls are part of the same Update.
func (s *Service) As(c Caller) *Service {
	as := *s
	as.caller = c
	as.caller.MaskKeys = c.MaskKeys || s.caller.MaskKeys
	if limit := s.caller.Products; limit != nil {
		if c.Products == nil {
			c.Products = limit
		}
		as.caller.Products = make([]string, 0, len(c.Products))
		for _, product := range c.Products {
			if slices.Contains(limit, product) {
				as.caller.Products = append(as.caller.Products, product)
			}
		}
	}
	return &as
}

// sees reports whether licenses of a product exist for the caller.
func (s *Service) sees(productID string) bool {
	if s.caller.Products != nil && !slices.Contains(s.caller.Products, productID) {
		return false
	}
	if s.tx != nil {
		s.tx.note(productID)
	}
	return true
}
