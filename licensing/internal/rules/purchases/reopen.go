package purchases

import (
	"context"
	"fmt"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
	"github.com/seed-d8a106b4/licensekit/store"
)

// ReopenPurchase continues a purchase that was ended by mistake; see package license.
func (s Service) ReopenPurchase(ctx context.Context, p api.ReopenPurchaseParams) (api.Purchase, error) {
	broken := call.CheckTags(p)
	if p.At.IsZero() {
		p.At = s.Now()
	}
	if p.At = call.ToMillis(p.At); p.At.After(s.Now().Add(24 * time.Hour)) {
		broken = append(broken, errAhead)
	}
	if len(broken) > 0 {
		return api.Purchase{}, &api.InvalidError{Fields: broken}
	}
	return s.inUpdate(ctx, "reopen", func(ctx context.Context, r store.Reader) (decision, error) {
		before, ok, err := ReadPurchase(ctx, r, p.Reference, s.Now())
		switch {
		case err != nil:
			return decision{}, err
		case !ok || before.Erased || s.Caller.Products != nil && !s.Sees(before.ProductID()):
			return decision{}, fmt.Errorf("purchase %q: %w", p.Reference, api.ErrNotFound)
		case before.FirstEnded.IsZero() && before.FirstRefunded.IsZero():
			return decision{}, api.Invalid("reference", api.FieldUnknown, "is that of a purchase that has not ended")
		case call.LastOf(before.LastEnded, before.LastRefunded).After(p.At):
			return decision{}, api.Invalid("at", api.FieldOutOfRange, fmt.Sprintf("must not be before %s, when the purchase was last reported as ended or refunded",
				call.LastOf(before.LastEnded, before.LastRefunded).Format(time.RFC3339Nano)))
		}
		d := decision{before: before, after: before.merge(Purchase{Reopened: p.At}), reason: p.Reason}
		return s.decideChange(ctx, r, d, Said[string]{})
	})
}
