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
	return s.inUpdate(ctx, "reopen", s.decideReopen(p))
}

// ReopenInParts returns the parts of ReopenPurchase for OncePrepared: Options.BeforeCreate
// runs before the Update.
func (s Service) ReopenInParts(ctx context.Context, p api.ReopenPurchaseParams) (prepare func() error, change func(*call.Call) (api.Purchase, error)) {
	var prepared *preparedCreate
	prepare = func() (err error) {
		prepared, err = s.prepareCreate(ctx, s.decideReopen(p))
		return err
	}
	if s.Opts.BeforeCreate == nil {
		prepare = nil
	}
	return prepare, func(in *call.Call) (api.Purchase, error) {
		return Of(in).inUpdatePrepared(ctx, Of(in).decideReopen(p), prepared)
	}
}

// decideReopen decides what ReopenPurchase does.
func (s Service) decideReopen(p api.ReopenPurchaseParams) decide {
	return func(ctx context.Context, r store.Reader) (decision, error) {
		broken := call.CheckTags(p)
		if p.At.IsZero() {
			p.At = s.Now()
		}
		if p.At = call.ToMillis(p.At); p.At.After(s.Now().Add(24 * time.Hour)) {
			broken = append(broken, errAhead)
		}
		if len(broken) > 0 {
			return decision{}, &api.InvalidError{Fields: broken}
		}
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
	}
}
