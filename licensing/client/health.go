package client

import (
	"context"
	"encoding/json"
	"time"
)

// Health is the health of the service.
type Health struct {
	Status string `json:"status"` // "ok" or "ready"
}

// GetHealth reports whether the process of the service runs.
func (c *Client) GetHealth(ctx context.Context) (Health, error) {
	return call[Health](ctx, c, "GET /health", anonymous, nil)
}

// Ready is whether the service is ready and, only if it was asked for, what an operator has
// to act on. GET /ready?verbose says more.
type Ready struct {
	Status   string         `json:"status"`   // always "ready"
	Problems []ReadyProblem `json:"problems"` // empty: none
}

// A ReadyProblem is one condition to act on.
type ReadyProblem struct {
	Code    string     `json:"code"`    // such as "webhook_failing"
	Subject string     `json:"subject"` // a subscriber, a webhook or a product; empty: none
	Detail  string     `json:"detail"`
	Since   *time.Time `json:"since"` // nil: unknown
}

// GetReady reports whether the store of the service answers. It fails with
// [api.CodeUnavailable], after retries, if it does not. If verbose is true, it lists problems,
// and needs the scope event:read, of all products.
func (c *Client) GetReady(ctx context.Context, verbose bool) (Ready, error) {
	type params struct {
		Verbose bool `json:"-" query:"verbose"`
	}
	f := anonymous
	if verbose {
		f = 0
	}
	return call[Ready](ctx, c, "GET /ready", f, params{verbose})
}

// GetDescription returns the description of the API (OpenAPI 3.1).
func (c *Client) GetDescription(ctx context.Context) (json.RawMessage, error) {
	return call[json.RawMessage](ctx, c, "GET /openapi.json", anonymous, nil)
}
