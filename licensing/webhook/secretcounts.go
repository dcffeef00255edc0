package webhook

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/rotation"
	"github.com/seed-d8a106b4/licensekit/internal/seal"
	"github.com/seed-d8a106b4/licensekit/store"
)

// SecretCounts are how many secrets of webhooks are stored in which form.
type SecretCounts struct {
	Sealed     int `json:"sealed"`     // encrypted with Options.MasterKey
	Previous   int `json:"previous"`   // encrypted with one of Options.PreviousMasterKeys
	Clear      int `json:"clear"`      // in plain text
	Unreadable int `json:"unreadable"` // encrypted with another key: deliveries wait until they are rotated
}

// A secretCount is the last count of the secrets of all webhooks. It is true until
// a webhook changes or a secret expires.
type secretCount struct {
	mu     sync.Mutex // guards the fields below, and lets one call at a time count
	ok     bool
	change string    // the last change of a webhook
	at     time.Time // when it was made
	until  time.Time // when the next secret expires; zero: none will
	counts SecretCounts
}

// SecretCounts counts the current secrets of all webhooks. It reads the webhooks
// only if one has changed since the last call.
func (s internals) SecretCounts(ctx context.Context) (SecretCounts, error) {
	c := &s.secretCount
	c.mu.Lock()
	defer c.mu.Unlock()
	err := s.view(ctx, func(r store.Reader) error {
		change, err := readChange(ctx, r)
		now := s.now()
		if err != nil || c.ok && change.last() == c.change && !now.Before(c.at) && (c.until.IsZero() || now.Before(c.until)) {
			return err
		}
		all, err := readAll(ctx, r)
		if err != nil {
			return err
		}
		var n seal.Counts
		c.ok, c.change, c.at, c.until = true, change.last(), now, time.Time{}
		for _, rec := range all {
			for _, secret := range rotation.Valid(rec.Secrets, now) {
				s.box().Count(&n, secret.Sealed, []byte(rec.ID))
				if end := secret.ExpiresAt; !end.IsZero() && (c.until.IsZero() || end.Before(c.until)) {
					c.until = end
				}
			}
		}
		c.counts = SecretCounts(n)
		return nil
	})
	if err != nil {
		return SecretCounts{}, fmt.Errorf("count secrets: %w", err)
	}
	return c.counts, nil
}
