package auth

import (
	"context"
	"crypto/subtle"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/rotation"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/store"
)

// DefaultOverlap is the usual time for which an old secret works beside a new one.
const DefaultOverlap = 24 * time.Hour

// A Secret describes a secret of a client without its value.
type Secret struct {
	ID         string    `json:"id"`   // sec_…
	Hint       string    `json:"hint"` // its last four characters, which are part of the checksum
	CreatedAt  time.Time `json:"created_at"`
	ExpiresAt  time.Time `json:"expires_at,omitzero"`   // zero: never
	LastUsedAt time.Time `json:"last_used_at,omitzero"` // the time of the last token for it, accurate to five minutes; zero: never
}

// RotateSecretParams are the parameters of [Auth.RotateSecret].
type RotateSecretParams struct {
	ClientID string
	// Overlap is how long the current secret stays valid, up to 90 days; see
	// [DefaultOverlap]. Zero ends all current secrets and their tokens
	// immediately.
	Overlap time.Duration `json:"overlap" validate:"min=0,max=2160h"`
}

// RotateSecret adds a secret to a client, appends client.rotated, and returns the
// client and the new secret. The secret cannot be read again. RotateSecret
// returns [api.ErrNotFound], an [*api.InvalidError], or [ErrTooManySecrets] if the client
// would have three valid secrets.
func (a *Auth) RotateSecret(ctx context.Context, p RotateSecretParams) (client Client, secret string, err error) {
	if err := check(p); err != nil {
		return Client{}, "", err
	}
	now := a.now()
	secret, stored := newSecret(now)
	client, err = a.changeClient(ctx, "rotate secret", p.ClientID, func(c *clientRecord) (eventType string, err error) {
		c.Secrets = append(rotation.Overlap(c.Secrets, now, p.Overlap), stored)
		if len(c.Secrets) > rotation.Max {
			return "", ErrTooManySecrets
		}
		return api.EventClientRotated, nil
	})
	if err != nil {
		return Client{}, "", err
	}
	return client, secret, nil
}

// RevokeSecret ends a secret and the tokens that were issued for it, and appends
// client.updated. A client without a secret can get one by [Auth.RotateSecret].
// RevokeSecret returns [api.ErrNotFound] if there is no such client or secret.
func (a *Auth) RevokeSecret(ctx context.Context, clientID, secretID string) (Client, error) {
	return a.changeClient(ctx, "revoke secret", clientID, func(c *clientRecord) (eventType string, err error) {
		i := slices.IndexFunc(c.Secrets, func(s secretRecord) bool { return s.ID == secretID })
		if i < 0 {
			return "", fmt.Errorf("secret of client %q: %w", clientID, api.ErrNotFound)
		}
		c.Secrets = slices.Delete(slices.Clone(c.Secrets), i, i+1)
		return api.EventClientUpdated, nil
	})
}

// A secretRecord is the stored form of a secret.
type secretRecord struct {
	Secret
	Digest string `json:"digest"`
}

// Expiry and Until are for package rotation.
func (s secretRecord) Expiry() time.Time { return s.ExpiresAt }
func (s secretRecord) Until(end time.Time) secretRecord {
	s.ExpiresAt = end
	return s
}

// An expiredSecret is the stored form of an expired secret.
type expiredSecret struct {
	ID        string    `json:"id"`
	ExpiresAt time.Time `json:"expires_at"`
}

// newSecret returns a new secret and its stored form.
func newSecret(now time.Time) (raw string, s secretRecord) {
	raw = newCredential(secretPrefix)
	return raw, secretRecord{
		Secret: Secret{ID: store.NewID("sec", now), Hint: raw[len(raw)-4:], CreatedAt: now},
		Digest: digest(raw),
	}
}

// maxTokenTTL is the maximum of [TokenOptions.TTL].
const maxTokenTTL = 24 * time.Hour

// maxExpired is the number of expired secrets that are stored with a client. Only
// a client whose secret is rotated every few minutes reaches it.
const maxExpired = 10

// dropExpired moves expired secrets to ExpiredSecrets, where they stay as long as
// tokens that were issued for them can be valid.
func (c *clientRecord) dropExpired(now time.Time) {
	expired := slices.Clone(c.ExpiredSecrets)
	for _, s := range c.Secrets {
		if !rotation.IsValid(s, now) {
			expired = append(expired, expiredSecret{s.ID, s.ExpiresAt})
		}
	}
	expired = slices.DeleteFunc(expired, func(s expiredSecret) bool { return !now.Before(s.ExpiresAt.Add(maxTokenTTL)) })
	c.ExpiredSecrets = expired[max(0, len(expired)-maxExpired):]
	c.Secrets = rotation.Valid(c.Secrets, now)
}

// hadSecret reports whether the client has the secret, or had it until it
// expired. It is false for a revoked secret.
func (c clientRecord) hadSecret(id string) bool {
	return slices.ContainsFunc(c.Secrets, func(s secretRecord) bool { return s.ID == id }) ||
		slices.ContainsFunc(c.ExpiredSecrets, func(s expiredSecret) bool { return s.ID == id })
}

// noDigest has the length of a digest, but no secret has it.
var noDigest = strings.Repeat("-", len(digest("")))

// match returns the ID of the client's valid secret with that digest. The time it
// takes does not depend on the number of secrets or on which one matches.
func (c clientRecord) match(digest string, now time.Time) (secretID string, ok bool) {
	live := rotation.Valid(c.Secrets, now)
	for i := range rotation.Max {
		want, id := noDigest, ""
		if i < len(live) {
			want, id = live[i].Digest, live[i].ID
		}
		if subtle.ConstantTimeCompare([]byte(want), []byte(digest)) == 1 {
			secretID, ok = id, true
		}
	}
	return secretID, ok
}
