package webhook

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/input"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store"
)

// Options configure webhooks and their deliveries.
type Options struct {
	// AllowPrivate allows webhooks with plain http and addresses on private
	// networks and this machine, for tests and for deployments that trust
	// everyone who may create webhooks with the network. Link-local
	// addresses (169.254.0.0/16, fe80::/10) and other addresses that no
	// receiver can have stay refused. Default: https and public addresses
	// only, checked against the dialed address on every attempt.
	AllowPrivate bool

	// Ports are the ports that webhooks may use. Default: any.
	Ports []int `validate:"dive,min=1,max=65535"`

	// Transport sends the requests in place of the built-in transport, for
	// instance through an egress proxy. The rules above do not apply: the
	// transport decides which addresses it calls. Default: none.
	Transport http.RoundTripper `validate:"-"`

	// DeliveryRetention is how long finished deliveries are kept, at least
	// an hour. Default: 30 days.
	DeliveryRetention time.Duration `validate:"omitempty,min=1h"`
}

// A Service manages webhooks and their deliveries. Handler.Webhooks of package
// licensing returns one, and Handler.Run sends the deliveries. A Service is safe
// for concurrent use, except one that [Service.In] returned for a license.Service
// inside Atomically or Once.
type Service struct {
	//lint:ignore U1000 see internals.go
	inside
	*common
	rules *license.Service
}

// common is what the Services of one handler have in common.
type common struct {
	opts     Options
	limit    limit
	logger   *slog.Logger
	sender   *sender
	warnOnce sync.Once // about plain-text secrets

	oldAfter atomic.Value // before it, no delivery is finished: a store.Position
}

// In returns a Service that acts as rules does: for the Caller of
// license.Service.As and, inside license.Service.Atomically or Once, in its
// Update. A Caller limited to some products sees only webhooks limited to those
// products.
func (s *Service) In(rules *license.Service) *Service {
	return &Service{rules: rules, common: s.common}
}

// asDelivery returns a Service that acts for the system.
func (s *Service) asDelivery() *Service { return s.In(s.rules.As(license.Caller{Actor: "delivery"})) }

// actor returns the actor for events.
func (s *Service) actor() string {
	if c := inner.Of(s.rules).Call().Caller; c.Actor != "" {
		return c.Actor
	}
	return "go"
}

// A transaction is a running Update and the instant it takes place at.
type transaction struct {
	store.Tx
	now time.Time
}

// update runs fn in the current Update, or in a new one.
func (s *Service) update(ctx context.Context, fn func(*transaction) error) error {
	return s.store().Update(ctx, func(tx store.Tx) error { return fn(&transaction{tx, s.now()}) })
}

// store returns the store: inside license.Service.Atomically or Once, that of their
// Update.
func (s *Service) store() store.Store { return inner.Of(s.rules).Call().Joined() }

// now returns the instant a call takes place at.
func (s *Service) now() time.Time { return inner.Of(s.rules).Call().Now() }

// covers reports whether all of these products exist for the caller. Nil means
// all products.
func (s *Service) covers(products []string) bool {
	if products == nil {
		return inner.Of(s.rules).Call().Sees("")
	}
	for _, p := range products {
		if !inner.Of(s.rules).Call().Sees(p) {
			return false
		}
	}
	return true
}

// checkTags checks a parameter struct against its tags.
var checkTags = input.Checker(nil)
