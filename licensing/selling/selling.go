package selling

import (
	"context"
	"log/slog"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/failing"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

// A Service sells licenses. It is safe for concurrent use, but one from [Service.In] must
// be used only by the function whose Service it was given.
type Service struct {
	inside
	rules *license.Service
}

// inside leads package payment to the methods of internals, with [inner.Of].
type inside = inner.Methods[internals]

// internals are the methods of a Service for package payment.
type internals struct{ *Service }

// Of returns the methods for s.
func (internals) Of(s *Service) internals { return internals{s} }

func (s internals) Now() time.Time            { return inner.Of(s.rules).Call().Now() }
func (s internals) Logger() *slog.Logger      { return inner.Of(s.rules).Call().Opts.Logger }
func (s internals) Payments() *failing.Events { return inner.Of(s.rules).Payments() }

// New returns a Service that acts as rules: for its Caller and, inside
// [license.Service.Atomically] and [license.Service.Once], in its Update.
func New(rules *license.Service) *Service { return &Service{rules: rules} }

// In returns a Service that acts as in, so that its calls are part of the same Update:
//
//	err := h.Service().Atomically(ctx, func(in *license.Service) error {
//		_, err := h.Selling().In(in).RecordPurchase(ctx, purchase)
//		return err
//	})
func (s *Service) In(in *license.Service) *Service { return New(in) }

// Sales returns what was sold in a period: "week", "last-week", "month", "last-month" or
// "year", the last twelve months. Days and weeks, which begin on Monday, are in UTC. The
// numbers are those of the dashboard, counted from events. It returns an [*api.InvalidError]
// for another period, or [api.ErrProductForbidden] to a caller limited to some products.
func (s *Service) Sales(ctx context.Context, period string) (api.Sales, error) {
	return inner.Of(s.rules).Sales().Sales(ctx, period)
}
