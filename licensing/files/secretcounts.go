package files

import (
	"context"
	"fmt"

	"github.com/seed-d8a106b4/licensekit/internal/seal"
)

// SecretCounts are how many secrets, such as the private halves of signing keys,
// are stored in which form.
type SecretCounts struct {
	Sealed     int `json:"sealed"`     // encrypted with Options.MasterKey
	Previous   int `json:"previous"`   // encrypted with one of Options.PreviousMasterKeys
	Clear      int `json:"clear"`      // in plain text
	Unreadable int `json:"unreadable"` // encrypted with another key: they cannot be used
}

// SecretCounts counts the stored private halves of the active key and the next
// one, which no others need. It creates no key.
func (s *Service) SecretCounts(ctx context.Context) (SecretCounts, error) {
	all, err := loadRing(ctx, s.st)
	if err != nil {
		return SecretCounts{}, fmt.Errorf("count secrets: %w", err)
	}
	var n seal.Counts
	for _, rec := range all {
		if rec.stored() && rec.inUse() {
			s.box().Count(&n, rec.Sealed, []byte(rec.ID))
		}
	}
	return SecretCounts(n), nil
}
