package call

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/terms"
	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
	"github.com/seed-d8a106b4/licensekit/store"
)

// Options are the options of package license that the rules use, with defaults.
type Options struct {
	Now            func() time.Time
	Logger         *slog.Logger
	BeforeCreate   func(ctx context.Context, p *api.CreateLicenseParams) error
	EmailKey       string            // of the metadata
	ProductNames   map[string]string // by ID
	IdempotencyTTL time.Duration
	KeyHolderSeats bool
	RecheckAfter   time.Duration
	MaxOffline     time.Duration
	HoldOffline    bool
	ClaimFrom      []string // beginnings of customer IDs
	FileIssuer     string
	TimeZone       *time.Location // of dates that people write and read
	ExpiryNotices  []time.Duration
	Office         *Office // nil: the service is not an office
}

// ProductName returns the name of a product for people.
func (o Options) ProductName(id string) string { return cmp.Or(o.ProductNames[id], id) }

// Claimable reports whether the licenses of a customer ID can be claimed.
func (o Options) Claimable(customerID string) bool {
	return slices.ContainsFunc(o.ClaimFrom, func(from string) bool { return strings.HasPrefix(customerID, from) })
}

// An Office is what the file of an office says of a service that is one.
type Office struct {
	licensefile.Claims
	KeyID string // of its signing key
}

// A Call is the call that is being served: on which store, at what time, for whom, and in
// which Update. The rules of every room are methods of a type that embeds one.
type Call struct {
	Store  store.Store
	Opts   *Options
	Caller Caller
	Tx     *Tx    // set inside Atomically and Once
	Holder bool   // acts for a license key holder
	Owner  *Owner // whose licenses are the only ones that exist; nil: all exist
	*hooks
}

// New returns a Call whose copies, of which every room makes some, share its options and
// hooks.
func New(st store.Store, opts Options) Call { return Call{Store: st, Opts: &opts, hooks: &hooks{}} }

// hooks are what follows from a call in rules that build on those of the call. New of
// package license sets them; they are the same for all copies of a Service.
type hooks struct {
	// Changed runs after each Update that has written a license, also if it failed.
	Changed func()

	// Observed runs after a Validate or an Activate that joined no Update, with its
	// verdict; of Activate, only after a refusal.
	Observed func(ctx context.Context, v api.Verdict, c api.RefusedCall)

	// CustomerChanged runs in each Update that gives a license another customer, or
	// another ID of the same one, after the license is written.
	CustomerChanged func(ctx context.Context, tx *Tx, before, after record.License) error

	// Purchases returns the purchases of a license that has some, and the one that stands
	// for a license that no purchase made.
	Purchases func(ctx context.Context, r store.Reader, licenseID string) ([]terms.Purchase, error)

	// OwnChanged stores what an edit by hand made of the purchase that stands for a license.
	OwnChanged func(ctx context.Context, tx *Tx, own terms.Purchase) error

	// Started returns what a license becomes by its first activation at an instant, if a
	// purchase begins with it, and the function that stores that.
	Started func(ctx context.Context, r store.Reader, rec record.License, now time.Time) (next record.License, put func(context.Context, *Tx) error, err error)

	// MayUse returns the verdict on a program that uses units of the meters of a license, for
	// a product unless that is empty. Nil: there is no license. A verdict that is valid has no
	// more than its code.
	MayUse func(l *record.License, productID string, at time.Time) (api.Verdict, error)

	// Erasing removes what receivers of webhooks answered to events that an erasure
	// blanks next, outside its Updates; nil: nothing keeps answers.
	Erasing func(ctx context.Context, st store.Store, events []store.Event) error
}

// Observe hands a call and the verdict on it to the hook, unless it has joined an
// Update: that may be repeated, or undone.
func (s *Call) Observe(ctx context.Context, v api.Verdict, c api.RefusedCall) {
	if s.Tx == nil {
		c.At, c.Address = s.Now(), s.Caller.Address
		s.Observed(ctx, v, c)
	}
}

// ClockActor is the actor of events caused by the passage of time.
const ClockActor = "clock"

// A Caller is one of package license, which describes it.
type Caller struct {
	Actor, RequestID, Address string
	Products                  []string
	MaskKeys                  bool
}

// As returns a Call for c; see Service.As of package license.
func (s *Call) As(c Caller) Call {
	as := *s
	as.Caller = c
	as.Caller.MaskKeys = c.MaskKeys || s.Caller.MaskKeys
	if limit := s.Caller.Products; limit != nil {
		if c.Products == nil {
			c.Products = limit
		}
		as.Caller.Products = make([]string, 0, len(c.Products))
		for _, product := range c.Products {
			if slices.Contains(limit, product) {
				as.Caller.Products = append(as.Caller.Products, product)
			}
		}
	}
	return as
}

// Sees reports whether licenses of a product exist for the caller.
func (s *Call) Sees(productID string) bool {
	if s.Caller.Products != nil && !slices.Contains(s.Caller.Products, productID) {
		return false
	}
	if s.Tx != nil {
		s.Tx.note(productID)
	}
	return true
}

// MaxLimit is the maximum page size.
const MaxLimit = 200

// OnlyProducts returns the products the caller is limited to, sorted, without
// duplicates.
func (s *Call) OnlyProducts() []string {
	return slices.Compact(slices.Sorted(slices.Values(s.Caller.Products)))
}

// maskedEnd is the number of characters at the end of a key that a masked key
// shows.
const maskedEnd = 4

// Shown returns l as the caller may see it.
func (s *Call) Shown(l api.License) api.License {
	l.Key = s.ShownKey(l.Key)
	return l
}

// ShownKey returns a key as the caller may see it.
func (s *Call) ShownKey(key string) string {
	if s.Caller.MaskKeys {
		return maskKey(key)
	}
	return key
}

// maskKey returns the last characters of a key after an ellipsis.
func maskKey(key string) string {
	if len(key) < minKeyLength {
		return ""
	}
	return "…" + key[len(key)-maskedEnd:]
}
