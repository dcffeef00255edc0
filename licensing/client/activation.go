package client

import (
	"context"
	"iter"
)

// ValidateKeyParams are the parameters of [Client.ValidateKey]. Only Key is
// required; fields that are not set are not checked.
type ValidateKeyParams struct {
	Key          string   `json:"key"`
	ProductID    string   `json:"product_id,omitempty"`
	CustomerID   string   `json:"customer_id,omitempty"`
	Fingerprint  string   `json:"fingerprint,omitempty"`  // its activation is checked, and its lease renewed
	Entitlements []string `json:"entitlements,omitempty"` // the license must have all of them
	File         string   `json:"file,omitempty"`         // asks for a license file: an ISO 8601 duration such as "P14D"
	Nonce        string   `json:"nonce,omitempty"`        // is put into the file
}

// ValidateKey returns the verdict on the license with a key; for an unknown
// key too. It needs no access token. A shipped program uses [Open] instead.
func (c *Client) ValidateKey(ctx context.Context, p ValidateKeyParams) (Verdict, error) {
	return call[Verdict](ctx, c, "POST /license/validate", anonymous, p)
}

// ActivateKeyParams are the parameters of [Client.ActivateKey]. Key and
// Fingerprint are required.
type ActivateKeyParams struct {
	Key         string            `json:"key"`
	Fingerprint string            `json:"fingerprint"`
	ProductID   string            `json:"product_id,omitempty"`
	CustomerID  string            `json:"customer_id,omitempty"`
	Name        string            `json:"name,omitempty"`
	Metadata    map[string]string `json:"metadata,omitempty"`
	TakeOver    string            `json:"take_over,omitempty"` // "oldest" or the ID of the activation to evict if no seat is free
	File        string            `json:"file,omitempty"`      // as in [ValidateKeyParams]
	Nonce       string            `json:"nonce,omitempty"`
}

// ActivateKey activates a fingerprint on the license with a key. An active
// fingerprint keeps its activation. A refusal is an [*Error] with the code and
// the Verdict, such as [CodeActivationLimit] or [CodeNotFound]. It needs no
// access token.
func (c *Client) ActivateKey(ctx context.Context, p ActivateKeyParams) (Verdict, error) {
	return call[Verdict](ctx, c, "POST /license/activate", anonymous, p)
}

// DeactivateKeyParams are the parameters of [Client.DeactivateKey]. Key and
// one of Fingerprint and ActivationID are required.
type DeactivateKeyParams struct {
	Key          string `json:"key"`
	Fingerprint  string `json:"fingerprint,omitempty"`
	ActivationID string `json:"activation_id,omitempty"` // if the service lets license keys release any activation
	Reason       string `json:"reason,omitempty"`        // with ActivationID; kept in the event
}

// DeactivateKey releases an activation of the license with a key. One that
// has ended is returned unchanged. It fails with [CodeNotFound],
// [CodeForbidden] or [CodeSeatHeld]. It needs no access token.
func (c *Client) DeactivateKey(ctx context.Context, p DeactivateKeyParams) (Activation, error) {
	return call[Activation](ctx, c, "POST /license/deactivate", anonymous, p)
}

// ListActivationsOfKeyParams select activations of the license with a key.
type ListActivationsOfKeyParams struct {
	Key   string `json:"key"`
	Ended bool   `json:"ended,omitempty"` // include ended ones
	Limit int    `json:"limit,omitempty"` // activations per request, at most 200; 0: 50
}

// ListActivationsOfKey returns the activations of the license with a key, if
// the service allows that: otherwise it fails with [CodeForbidden]. It needs no
// access token.
func (c *Client) ListActivationsOfKey(ctx context.Context, p ListActivationsOfKeyParams) iter.Seq2[Activation, error] {
	type params struct {
		ListActivationsOfKeyParams
		Cursor string `json:"cursor,omitempty"`
	}
	return list[Activation](ctx, c, "POST /license/activation", anonymous, func(cursor string) any { return params{p, cursor} })
}

// ListActivationsParams select activations of a license.
type ListActivationsParams struct {
	LicenseID string `json:"-" path:"licenseID"`
	Ended     bool   `json:"-" query:"ended"` // include ended ones
	Limit     int    `json:"-" query:"limit"` // activations per request, at most 200; 0: 50
}

// ListActivations returns the activations of a license in the order of their
// creation. It fails with [CodeNotFound].
func (c *Client) ListActivations(ctx context.Context, p ListActivationsParams) iter.Seq2[Activation, error] {
	type params struct {
		ListActivationsParams
		pageQuery
	}
	return list[Activation](ctx, c, "GET /license/{licenseID}/activation", 0, func(cursor string) any { return params{p, pageQuery{cursor}} })
}

// ReleaseActivationParams select an activation.
type ReleaseActivationParams struct {
	LicenseID    string `json:"-" path:"licenseID"`
	ActivationID string `json:"-" path:"activationID"`
	Reason       string `json:"-" query:"reason"` // kept in the event
	// Force releases a seat that a license file holds, although the license
	// has as many spent seats as it may have.
	Force bool `json:"-" query:"force"`
}

// ReleaseActivation ends an activation and frees its seat. One that has ended
// is returned unchanged. It fails with [CodeNotFound] or [CodeSeatHeld].
func (c *Client) ReleaseActivation(ctx context.Context, p ReleaseActivationParams) (Activation, error) {
	return call[Activation](ctx, c, "DELETE /license/{licenseID}/activation/{activationID}", 0, p)
}
