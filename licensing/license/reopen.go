package license

import (
	"context"
	"fmt"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/store"
)

// Reopen continues a purchase that was ended by mistake: events that say ended with
// an At up to that of p do not count any more, also if they arrive again, and later
// ones do. It changes the license as Fulfill does. It returns [api.ErrNotFound], or an
// [*api.InvalidError] if the purchase has not ended, or if an event ended it after At.
func (s *Service) Reopen(ctx context.Context, p api.ReopenParams) (api.Fulfillment, error) {
	broken := checkTags(p)
	if p.At.IsZero() {
		p.At = s.now()
	}
	if p.At = toMillis(p.At); p.At.After(s.now().Add(24 * time.Hour)) {
		broken = append(broken, errAhead)
	}
	if len(broken) > 0 {
		return api.Fulfillment{}, &api.InvalidError{Fields: broken}
	}
	return s.fulfill(ctx, "reopen "+p.Reference, func(ctx context.Context, r store.Reader) (decision, error) {
		before, ok, err := readPurchase(ctx, r, p.Reference, s.now())
		switch {
		case err != nil:
			return decision{}, err
		case !ok || before.Erased || s.caller.Products != nil && !s.sees(before.productID()):
			return decision{}, api.ErrNotFound
		case before.FirstEnded.IsZero():
			return decision{}, api.Invalid("reference", api.FieldUnknown, "is that of a purchase that has not ended")
		case before.LastEnded.After(p.At):
			return decision{}, api.Invalid("at", api.FieldOutOfRange, fmt.Sprintf("must not be before %s, when the purchase was last reported as ended", before.LastEnded.Format(time.RFC3339Nano)))
		}
		d := decision{before: before, after: before.merge(purchase{Reopened: p.At}), reason: p.Reason}
		return s.settle(ctx, r, d, said[string]{})
	})
}
