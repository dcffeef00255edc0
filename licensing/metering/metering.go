package metering

import (
	"context"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

// A Service counts usage. It is safe for concurrent use, but one from [Service.In] must be
// used only by the function whose Service it was given.
type Service struct{ rules *license.Service }

// New returns a Service that acts as rules: for its Caller and, inside
// [license.Service.Atomically] and [license.Service.Once], in its Update.
func New(rules *license.Service) *Service { return &Service{rules} }

// In returns a Service that acts as in, so that its calls are part of the same Update.
func (s *Service) In(in *license.Service) *Service { return New(in) }

// CountUsage counts usage of the license with a key: all reports or, if one is refused,
// none. Reports without At are refused if the license is not valid or if the limit of a
// meter would be exceeded; the verdict of the [*api.DeniedError] has what was used, and when
// counting starts again. Reports of a meter that the license does not have are always
// refused. Errors are that and an [*api.InvalidError].
func (s *Service) CountUsage(ctx context.Context, p api.CountUsageParams) (api.Usage, error) {
	return inner.Of(s.rules).Meters().CountUsage(ctx, p)
}

// RecordUsage is CountUsage for many licenses in one Update. Each license is decided by
// itself: a Usage that was not counted says why in Refused. It returns an
// [*api.InvalidError].
func (s *Service) RecordUsage(ctx context.Context, p api.RecordUsageParams) (api.UsageBatch, error) {
	return inner.Of(s.rules).Meters().RecordUsage(ctx, p)
}

// ListUsage returns a page of what was used of the meters of a license, a period at a time,
// the latest first, and last what never starts again. A period is kept for 400 days after
// its end. It returns [api.ErrNotFound] or an [*api.InvalidError].
func (s *Service) ListUsage(ctx context.Context, p api.ListUsageParams) (api.Page[api.UsagePeriod], error) {
	return inner.Of(s.rules).Meters().ListUsage(ctx, p)
}

// CorrectUsage sets what was used of a meter in one period, and appends a usage.counted
// event, which also reports usage that no event has yet. Later reports count in addition. If nothing
// changes, it writes nothing. It returns [api.ErrNotFound] if there is no such license or
// meter, or an [*api.InvalidError].
func (s *Service) CorrectUsage(ctx context.Context, p api.CorrectUsageParams) (api.UsagePeriod, error) {
	return inner.Of(s.rules).Meters().CorrectUsage(ctx, p)
}
