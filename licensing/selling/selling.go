package selling

import (
	"context"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

// A Service sells licenses. It is safe for concurrent use, but one from [Service.In] must
// be used only by the function whose Service it was given.
type Service struct {
	//lint:ignore U1000 see internals.go
	inside
	rules *license.Service
}

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

// Sales returns what was sold in a period: "week", "last-week", "month", "last-month",
// "quarter", "last-quarter" or "year", the last twelve months. Days and weeks, which begin on Monday, are in UTC. The
// numbers are those of the dashboard, counted from events. It returns an [*api.InvalidError]
// for another period, or [api.ErrProductForbidden] to a caller limited to some products.
func (s *Service) Sales(ctx context.Context, period string) (api.Sales, error) {
	return inner.Of(s.rules).Sales().Sales(ctx, period)
}
