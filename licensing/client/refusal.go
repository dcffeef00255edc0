package client

import (
	"context"
	"iter"
)

// ListRefusals returns why validations and activations of a license were
// refused, one entry for each code, the one with the latest refusal first. It
// fails with [CodeNotFound].
func (c *Client) ListRefusals(ctx context.Context, p ListRefusalsParams) iter.Seq2[Refusal, error] {
	return list[Refusal](ctx, c, "GET /license/{licenseID}/refusal", 0, "", func(string) any { return p })
}
