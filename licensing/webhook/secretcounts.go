package webhook

import (
	"context"
	"fmt"

	"github.com/seed-d8a106b4/licensekit/internal/rotation"
	"github.com/seed-d8a106b4/licensekit/internal/seal"
)

// SecretCounts are how many secrets of webhooks are stored in which form.
type SecretCounts struct {
	Sealed     int `json:"sealed"`     // encrypted with Options.MasterKey
	Previous   int `json:"previous"`   // encrypted with one of Options.PreviousMasterKeys
	Clear      int `json:"clear"`      // in plain text
	Unreadable int `json:"unreadable"` // encrypted with another key: deliveries wait until they are rotated
}

// SecretCounts counts the current secrets of all webhooks.
func (s internals) SecretCounts(ctx context.Context) (SecretCounts, error) {
	all, err := readAll(ctx, s.reader())
	if err != nil {
		return SecretCounts{}, fmt.Errorf("count secrets: %w", err)
	}
	var n seal.Counts
	box := s.box()
	for _, rec := range all {
		for _, secret := range rotation.Valid(rec.Secrets, s.now()) {
			box.Count(&n, secret.Sealed, []byte(rec.ID))
		}
	}
	return SecretCounts(n), nil
}
