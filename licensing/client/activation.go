package client

import (
	"context"
	"iter"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// ValidateKey returns the verdict on the license with a key; for an unknown
// key too. It needs no access token. A shipped program uses
// package program instead.
func (c *Client) ValidateKey(ctx context.Context, p api.ValidateKeyParams) (api.Verdict, error) {
	return call[api.Verdict](ctx, c, "POST /license/validate", anonymous, p)
}

// ActivateKey activates a fingerprint on the license with a key. An active
// fingerprint keeps its activation. A refusal is an [*Error] with the code and
// the Verdict, such as [api.VerdictActivationLimit] or [api.CodeNotFound]. It needs no
// access token.
func (c *Client) ActivateKey(ctx context.Context, p api.ActivateKeyParams) (api.Verdict, error) {
	return call[api.Verdict](ctx, c, "POST /license/activate", anonymous, p)
}

// DeactivateKey releases an activation of the license with a key. One that
// has ended is returned unchanged. It fails with [api.CodeNotFound],
// [api.CodeForbidden] or [api.CodeSeatHeld]. It needs no access token.
func (c *Client) DeactivateKey(ctx context.Context, p api.DeactivateKeyParams) (api.Activation, error) {
	return call[api.Activation](ctx, c, "POST /license/deactivate", anonymous, p)
}

// StartLink starts an activation in the browser of a customer. It fails with
// [api.CodeNotConfigured]. It needs no access token. A shipped program uses package
// program instead.
func (c *Client) StartLink(ctx context.Context, p api.StartLinkParams) (api.Link, error) {
	return call[api.Link](ctx, c, "POST /license/link", anonymous, p)
}

// PollLink returns what the customer has decided on a link. It fails with
// [api.CodeLinkGone] or [api.CodeSlowDown]. It needs no access token.
func (c *Client) PollLink(ctx context.Context, p api.PollLinkParams) (api.LinkState, error) {
	return call[api.LinkState](ctx, c, "POST /license/link/poll", anonymous, p)
}

// ListActivationsOfKey returns the activations of the license with p.Key, if
// the service allows that: otherwise it fails with [api.CodeForbidden]. It needs no
// access token.
func (c *Client) ListActivationsOfKey(ctx context.Context, p api.ListActivationsParams) iter.Seq2[api.Activation, error] {
	return list[api.Activation](ctx, c, "POST /license/activation", anonymous, p.Cursor, func(cursor string) any { p := p; p.Cursor = cursor; return p })
}

// ListActivations returns the activations of a license in the order of their
// creation. It fails with [api.CodeNotFound].
func (c *Client) ListActivations(ctx context.Context, p api.ListActivationsParams) iter.Seq2[api.Activation, error] {
	return list[api.Activation](ctx, c, "GET /license/{licenseID}/activation", 0, p.Cursor, func(cursor string) any { p := p; p.Cursor = cursor; return p })
}

// ReleaseActivation ends an activation and frees its seat. One that has ended
// is returned unchanged. It fails with [api.CodeNotFound] or [api.CodeSeatHeld].
func (c *Client) ReleaseActivation(ctx context.Context, p api.ReleaseActivationParams) (api.Activation, error) {
	return call[api.Activation](ctx, c, "DELETE /license/{licenseID}/activation/{activationID}", 0, p)
}
