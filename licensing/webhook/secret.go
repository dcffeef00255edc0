package webhook

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/internal/rotation"
	"github.com/seed-d8a106b4/licensekit/internal/seal"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// A webhookSecret is one secret of a webhook: in plain text, or encrypted if
// there is a master key.
type webhookSecret struct {
	Clear     []byte    `json:"clear,omitempty"`
	Sealed    []byte    `json:"sealed,omitempty"`
	CreatedAt time.Time `json:"created_at"`
	ExpiresAt time.Time `json:"expires_at,omitzero"`
}

// Expiry and Until are for package rotation.
func (secret webhookSecret) Expiry() time.Time { return secret.ExpiresAt }
func (secret webhookSecret) Until(end time.Time) webhookSecret {
	secret.ExpiresAt = end
	return secret
}

// secretPrefix and secretSize define the format of a secret (Standard
// Webhooks): the prefix, then the bytes in padded standard base64.
const (
	secretPrefix = "whsec_"
	secretSize   = 32
)

// addSecret creates the newest secret of a webhook and returns its text
// form.
func (s *Service) addSecret(rec *webhookRecord, now time.Time) (shown string, err error) {
	clear := make([]byte, secretSize)
	rand.Read(clear)
	secret := webhookSecret{Clear: clear, CreatedAt: now}
	if box := s.box(); box.Seals() {
		secret.Clear = nil
		if secret.Sealed, err = box.Seal(clear, []byte(rec.ID)); err != nil {
			return "", err
		}
	}
	rec.Secrets = append([]webhookSecret{secret}, rec.Secrets...)
	return secretPrefix + base64.StdEncoding.EncodeToString(clear), nil
}

// box seals the secrets of webhooks.
func (s *Service) box() seal.Box {
	current, previous := inner.Of(s.rules).MasterKeys()
	return seal.New("licensekit webhook secret", "the secret", current, previous)
}

// open returns the plain bytes of a secret.
func (s *Service) open(webhookID string, secret webhookSecret) ([]byte, error) {
	if secret.Sealed == nil {
		return secret.Clear, nil
	}
	clear, _, err := s.box().Open(secret.Sealed, []byte(webhookID))
	return clear, err
}

// isReadable reports whether a master key can decrypt a secret.
func (s *Service) isReadable(webhookID string, secret webhookSecret) bool {
	_, err := s.open(webhookID, secret)
	return err == nil
}

// defaultOverlap is how many seconds an old secret stays valid by default.
const defaultOverlap = 24 * 60 * 60

// RotateSecret adds a new secret to a webhook and returns it; it
// cannot be read again. Deliveries are signed with it immediately, and also
// with the previous secret during the overlap. A secret from an earlier rotation
// that still overlapped ends. A previous secret that no
// master key can decrypt ends immediately, whatever the overlap is. It returns [api.ErrNotFound]
// or an [*api.InvalidError].
func (s *Service) RotateSecret(ctx context.Context, p api.RotateWebhookParams) (w api.Webhook, secret string, err error) {
	overlap := int64(defaultOverlap)
	if p.OverlapSeconds != nil {
		overlap = *p.OverlapSeconds
	}
	if overlap < 0 || overlap > 30*24*60*60 {
		return api.Webhook{}, "", api.Invalid("overlap_seconds", api.FieldOutOfRange, "must be between 0 and 2592000 (30 days)")
	}
	w, err = s.editWebhook(ctx, "rotate", p.ID, api.EventWebhookUpdated, func(tx *transaction, rec *webhookRecord) (err error) {
		previous := rec.Secrets[:1] // an overlap of an earlier rotation ends
		// A secret that cannot be read would make every signature fail.
		if !s.isReadable(p.ID, previous[0]) {
			previous = nil
		}
		rec.Secrets = rotation.Overlap(previous, tx.now, time.Duration(overlap)*time.Second)
		secret, err = s.addSecret(rec, tx.now)
		return err
	})
	if err != nil {
		return api.Webhook{}, "", err
	}
	return w, secret, nil
}

// sign returns the webhook-signature header of a message (Standard
// Webhooks): for each current secret, "v1," and the HMAC-SHA256 of the
// message ID, the Unix time of sending, and the body.
func (s *Service) sign(rec webhookRecord, messageID string, at time.Time, body []byte) (signature string, err error) {
	var signatures []string
	for _, secret := range rotation.Valid(rec.Secrets, s.now()) {
		key, err := s.open(rec.ID, secret)
		if err != nil {
			return "", fmt.Errorf("sign for webhook %s: %w", rec.ID, err)
		}
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(messageID + "." + strconv.FormatInt(at.Unix(), 10) + "."))
		mac.Write(body)
		signatures = append(signatures, "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	}
	return strings.Join(signatures, " "), nil
}

// SecretCounts counts the current secrets of all webhooks.
func (s internals) SecretCounts(ctx context.Context) (seal.Counts, error) {
	all, err := readAll(ctx, s.store())
	if err != nil {
		return seal.Counts{}, fmt.Errorf("count secrets: %w", err)
	}
	var n seal.Counts
	box := s.box()
	for _, rec := range all {
		for _, secret := range rotation.Valid(rec.Secrets, s.now()) {
			box.Count(&n, secret.Sealed, []byte(rec.ID))
		}
	}
	return n, nil
}
