package client

import (
	"context"
	"encoding/json"
)

// Health is the health of the service.
type Health struct {
	Status string `json:"status"` // "ok" or "ready"
}

// GetHealth reports whether the process of the service runs.
func (c *Client) GetHealth(ctx context.Context) (Health, error) {
	return call[Health](ctx, c, "GET /health", anonymous, nil)
}

// GetReady reports whether the store of the service answers. It fails with
// [api.CodeUnavailable], after retries, if it does not.
func (c *Client) GetReady(ctx context.Context) (Health, error) {
	return call[Health](ctx, c, "GET /ready", anonymous, nil)
}

// GetDescription returns the description of the API (OpenAPI 3.1).
func (c *Client) GetDescription(ctx context.Context) (json.RawMessage, error) {
	return call[json.RawMessage](ctx, c, "GET /openapi.json", anonymous, nil)
}
