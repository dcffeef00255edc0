package license

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
)

// Options are the options of licensing.Options that the rules use, under the same names.
// That type describes them. The zero value has the defaults.
type Options struct {
	Now                func() time.Time
	Logger             *slog.Logger
	BeforeCreate       func(ctx context.Context, p *api.CreateLicenseParams) error
	EmailKey           string
	ProductNames       map[string]string
	IdempotencyTTL     time.Duration
	KeyHolderSeats     bool
	RecheckAfter       time.Duration
	MaxOffline         time.Duration
	HoldOffline        bool
	ClaimFrom          []string
	FileIssuer         string
	TimeZone           *time.Location
	MasterKey          []byte
	PreviousMasterKeys [][]byte
	Events             EventOptions
}

// EventOptions configure the event feed.
type EventOptions struct {
	// ExpiryNotices are the times before ExpiresAt, and before the end of a
	// purchase that the license outlives, at which license.expiring is
	// appended, from a minute to 10 years. At ExpiresAt, license.expired is
	// appended, and at the end of the grace period license.lapsed. Each
	// notice is appended at most once per license, while the handler's Run is
	// running. After an interruption, only the nearest due notice is appended,
	// and after expiry only license.expired and license.lapsed. The first Run of
	// a store appends none that were due before it.
	// Default: 30, 7 and 1 days; empty but not nil: no license.expiring.
	ExpiryNotices []time.Duration `validate:"dive,min=1m,max=87600h"`

	// Retention is how long events are kept, at least 24 hours. Events that
	// a subscriber has not received are kept longer; events that an active
	// webhook has not received, up to five days longer. Paused and disabled
	// webhooks do not extend retention; the events they miss appear in their
	// history as skipped. The newest event is always kept. Default:
	// forever.
	Retention time.Duration `validate:"omitempty,min=24h"`
}

// rules returns the options as the rules know them.
func (o Options) rules() call.Options {
	return call.Options{
		Now: o.Now, Logger: o.Logger, BeforeCreate: o.BeforeCreate, EmailKey: o.EmailKey, ProductNames: o.ProductNames, IdempotencyTTL: o.IdempotencyTTL,
		KeyHolderSeats: o.KeyHolderSeats, RecheckAfter: o.RecheckAfter, MaxOffline: o.MaxOffline,
		HoldOffline: o.HoldOffline, ClaimFrom: o.ClaimFrom, FileIssuer: o.FileIssuer, TimeZone: cmp.Or(o.TimeZone, time.UTC), ExpiryNotices: o.Events.ExpiryNotices,
	}
}
