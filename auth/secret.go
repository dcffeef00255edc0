package auth

import (
	"context"
	"crypto/subtle"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

// maxSecrets is how many live secrets a client can have.
const maxSecrets = 2

// DefaultOverlap is how long an old secret usually goes on beside a new one.
const DefaultOverlap = 24 * time.Hour

// A Secret is what there is to see of a client's secret once it was shown.
type Secret struct {
	ID         string    `json:"id"`   // sec_…
	Hint       string    `json:"hint"` // its last four characters, which are of its checksum
	CreatedAt  time.Time `json:"created_at"`
	ExpiresAt  time.Time `json:"expires_at,omitzero"`   // zero: never
	LastUsedAt time.Time `json:"last_used_at,omitzero"` // when a token was last issued for it, to within five minutes; zero: never
}

// RotateSecretParams are the parameters of [Auth.RotateSecret].
type RotateSecretParams struct {
	ClientID string
	// Overlap is how long the secret in use stays valid, up to 90 days; see
	// [DefaultOverlap]. Zero ends all present secrets immediately, and
	// with them the tokens that were issued for them.
	Overlap time.Duration `validate:"min=0,max=2160h"`
}

// RotateSecret gives the client a new secret, which is shown this once, or
// returns [ErrNotFound], or [ErrTooManySecrets] if that would make three with
// the overlap. It appends client.rotated.
func (a *Auth) RotateSecret(ctx context.Context, p RotateSecretParams) (Client, string, error) {
	if err := check(p); err != nil {
		return Client{}, "", err
	}
	now := a.now()
	raw, secret := newSecret(now)
	c, err := a.changeClient(ctx, p.ClientID, func(c *clientRecord) (eventType string, err error) {
		if p.Overlap == 0 {
			c.Secrets = nil
		}
		if len(c.Secrets) >= maxSecrets {
			return "", ErrTooManySecrets
		}
		end := now.Add(p.Overlap)
		secrets := slices.Clone(c.Secrets)
		for i, s := range secrets {
			if s.ExpiresAt.IsZero() || end.Before(s.ExpiresAt) {
				secrets[i].ExpiresAt = end
			}
		}
		c.Secrets = append(secrets, secret)
		return "client.rotated", nil
	})
	if err != nil {
		return Client{}, "", err
	}
	return c, raw, nil
}

// RevokeSecret ends a secret and the tokens that were issued for it at once,
// or returns [ErrNotFound]. A client without a secret stays, and can be given
// one by [Auth.RotateSecret]. It appends client.updated.
func (a *Auth) RevokeSecret(ctx context.Context, clientID, secretID string) (Client, error) {
	return a.changeClient(ctx, clientID, func(c *clientRecord) (eventType string, err error) {
		i := slices.IndexFunc(c.Secrets, func(s secretRecord) bool { return s.ID == secretID })
		if i < 0 {
			return "", fmt.Errorf("%w: client %s has no live secret %q", ErrNotFound, clientID, secretID)
		}
		c.Secrets = slices.Delete(slices.Clone(c.Secrets), i, i+1)
		return "client.updated", nil
	})
}

// A secretRecord is what is kept of a secret.
type secretRecord struct {
	Secret
	Digest string `json:"digest"`
}

// An expiredSecret is what is kept of a secret that has expired.
type expiredSecret struct {
	ID        string    `json:"id"`
	ExpiresAt time.Time `json:"expires_at"`
}

// newSecret makes a secret up, and what is kept of it.
func newSecret(now time.Time) (raw string, s secretRecord) {
	raw = newCredential(secretPrefix)
	return raw, secretRecord{
		Secret: Secret{ID: store.NewID("sec", now), Hint: raw[len(raw)-4:], CreatedAt: now},
		Digest: digest(raw),
	}
}

// liveSecrets returns the secrets that have not expired.
func (c clientRecord) liveSecrets(now time.Time) []secretRecord {
	var live []secretRecord
	for _, s := range c.Secrets {
		if s.ExpiresAt.IsZero() || now.Before(s.ExpiresAt) {
			live = append(live, s)
		}
	}
	return live
}

// maxTokenTTL is the longest that a token can live; see [TokenOptions.TTL].
const maxTokenTTL = 24 * time.Hour

// maxExpired is how many expired secrets a client remembers. It is reached
// only by rotating every few minutes.
const maxExpired = 10

// dropExpired moves the secrets that have expired to ExpiredSecrets, for as
// long as there can be tokens that were issued for them.
func (c *clientRecord) dropExpired(now time.Time) {
	expired := slices.Clone(c.ExpiredSecrets)
	for _, s := range c.Secrets {
		if !s.ExpiresAt.IsZero() && !now.Before(s.ExpiresAt) {
			expired = append(expired, expiredSecret{s.ID, s.ExpiresAt})
		}
	}
	expired = slices.DeleteFunc(expired, func(s expiredSecret) bool { return !now.Before(s.ExpiresAt.Add(maxTokenTTL)) })
	c.ExpiredSecrets = expired[max(0, len(expired)-maxExpired):]
	c.Secrets = c.liveSecrets(now)
}

// hadSecret reports whether the client has a secret or had it until it
// expired. The secrets that were ended before are not among them.
func (c clientRecord) hadSecret(id string) bool {
	return slices.ContainsFunc(c.Secrets, func(s secretRecord) bool { return s.ID == id }) ||
		slices.ContainsFunc(c.ExpiredSecrets, func(s expiredSecret) bool { return s.ID == id })
}

// noDigest has the length of a digest and is none.
var noDigest = strings.Repeat("-", len(digest("")))

// match returns the id of the client's live secret with that digest. It takes
// the same time however many secrets there are and whichever it is.
func (c clientRecord) match(digest string, now time.Time) (secretID string, ok bool) {
	live := c.liveSecrets(now)
	for i := range maxSecrets {
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
