package license

import (
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/failing"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/find"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/refusals"
	"github.com/seed-d8a106b4/licensekit/store"
)

// A Service implements the licensing rules on top of a store. It is safe for
// concurrent use, except inside [Service.Atomically] and [Service.Once]: the
// Service passed to their function must be used only by that function.
type Service struct {
	//lint:ignore U1000 see internals.go
	inside
	c        call.Call
	opts     *Options // with defaults
	kept     *find.Kept
	pending  *refusals.Pending
	failing  *failing.Events // of payment providers
	searched *atomic.Int64   // see find.Service
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
	if opts.EmailKey == "" {
		opts.EmailKey = "email"
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
	s := &Service{c: call.New(st, opts.rules()), opts: &opts, kept: find.NewKept(), pending: refusals.NewPending(), failing: new(failing.Events)}
	s.c.Changed, s.c.Observed, s.c.CustomerChanged = s.kept.Drop, s.refusals().CountVerdict, s.leave().LeaveCustomer
	s.c.Purchases, s.c.OwnChanged, s.c.Started = s.purchases().TermsOf, s.purchases().PutOwn, s.purchases().Started
	s.c.MayUse = s.seats().MayUse
	return s
}

// Options returns the options in effect, with defaults filled in, but without the master
// keys: a Service that was narrowed with As may be given to code that must not have them.
func (s *Service) Options() Options {
	o := *s.opts
	o.MasterKey, o.PreviousMasterKeys = nil, nil
	return o
}

// MasterKeys returns Options.MasterKey and Options.PreviousMasterKeys.
func (s internals) MasterKeys() (current []byte, previous [][]byte) {
	return s.opts.MasterKey, s.opts.PreviousMasterKeys
}

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
	as.c = s.c.As(call.Caller(c))
	return &as
}
