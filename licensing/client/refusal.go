package client

import (
	"context"
	"iter"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// ListRefusals returns why validations and activations of a license were
// refused, one entry for each code, the one with the latest refusal first. It
// fails with [api.CodeNotFound].
func (c *Client) ListRefusals(ctx context.Context, p api.ListRefusalsParams) iter.Seq2[api.Refusal, error] {
	return list[api.Refusal](ctx, c, "GET /license/{licenseID}/refusal", 0, "", func(string) any { return p })
}
