package client

import (
	"context"
	"iter"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// CountUsage counts usage with a license key, which is the credential: all reports or, if
// one is refused, none. Repeating it counts nothing twice. It fails with the code of a
// verdict, such as [api.VerdictUsageLimit], with [api.CodeNotFound] or with
// [api.CodeInvalidParameters].
func (c *Client) CountUsage(ctx context.Context, p api.CountUsageParams) (api.Usage, error) {
	return call[api.Usage](ctx, c, "POST /license/usage", anonymous, p)
}

// RecordUsage counts usage of licenses, each of which is decided by itself: see Refused of
// each Usage. It fails with [api.CodeInvalidParameters].
func (c *Client) RecordUsage(ctx context.Context, p api.RecordUsageParams) (api.UsageBatch, error) {
	return call[api.UsageBatch](ctx, c, "POST /usage", keyed, p)
}

// ListUsage returns what was used of the meters of a license, a period at a time, the
// latest first. It reads page by page as the loop proceeds. An error ends the loop.
func (c *Client) ListUsage(ctx context.Context, p api.ListUsageParams) iter.Seq2[api.UsagePeriod, error] {
	return list[api.UsagePeriod](ctx, c, "GET /license/{licenseID}/usage", 0, p.Cursor, func(cursor string) any { p := p; p.Cursor = cursor; return p })
}

// CorrectUsage sets what was used of a meter in one period. It fails with
// [api.CodeNotFound] or [api.CodeInvalidParameters].
func (c *Client) CorrectUsage(ctx context.Context, p api.CorrectUsageParams) (api.UsagePeriod, error) {
	return call[api.UsagePeriod](ctx, c, "PUT /license/{licenseID}/meter/{meter}", 0, usageCorrection{p.LicenseID, p.Meter, &p.Used, p.From, p.Reason})
}

// A usageCorrection is CorrectUsageParams whose Used is sent if it is 0, too.
type usageCorrection struct {
	LicenseID string     `json:"-" path:"licenseID"`
	Meter     string     `json:"-" path:"meter"`
	Used      *int64     `json:"used"`
	From      *time.Time `json:"from"`
	Reason    string     `json:"reason"`
}
