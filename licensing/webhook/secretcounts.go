package webhook

import (
	"context"
	"fmt"

	"github.com/seed-d8a106b4/licensekit/internal/rotation"
	"github.com/seed-d8a106b4/licensekit/internal/seal"
)

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
