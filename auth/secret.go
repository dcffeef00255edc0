package auth

import (
	"context"
	"time"
)

// A Secret is what is kept of a client's secret for people to see.
type Secret struct {
	ID         string // sec_…
	Hint       string // its first and last characters, to tell it from others
	CreatedAt  time.Time
	ExpiresAt  time.Time // zero: never
	LastUsedAt time.Time // to within five minutes; zero: never
}

// DefaultOverlap is how long an old secret usually goes on beside a new one.
const DefaultOverlap = 24 * time.Hour

// RotateSecretParams are the parameters of [Auth.RotateSecret].
type RotateSecretParams struct {
	ClientID string
	// Overlap is how long the secret in use goes on, up to 90 days; see
	// [DefaultOverlap]. Zero ends it at once, and with it the tokens that
	// were issued for it.
	Overlap time.Duration
}

// RotateSecret gives the client a new secret, which is shown this once.
func (a *Auth) RotateSecret(ctx context.Context, p RotateSecretParams) (Client, string, error) {
	return Client{}, "", errNotYet
}

// RevokeSecret ends a secret and the tokens that were issued for it at once.
func (a *Auth) RevokeSecret(ctx context.Context, clientID, secretID string) (Client, error) {
	return Client{}, errNotYet
}
