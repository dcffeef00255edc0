package files

import (
	"context"
	"fmt"
)

// SecretCounts are how many private halves of signing keys are stored in which
// form.
type SecretCounts struct {
	Sealed     int `json:"sealed"`     // encrypted with Options.MasterKey
	Previous   int `json:"previous"`   // encrypted with one of Options.PreviousMasterKeys
	Clear      int `json:"clear"`      // in plain text
	Unreadable int `json:"unreadable"` // encrypted with another key: they cannot sign
}

// SecretCounts counts the stored private halves of the active key and the next
// one, which no others need. It creates no key.
func (s *Service) SecretCounts(ctx context.Context) (n SecretCounts, err error) {
	all, err := loadRing(ctx, s.st)
	if err != nil {
		return SecretCounts{}, fmt.Errorf("count secrets: %w", err)
	}
	for _, rec := range all {
		switch {
		case rec.State != KeyActive && rec.State != KeyNext, !rec.stored():
		case rec.Sealed == nil:
			n.Clear++
		default:
			_, current, err := s.box().Open(rec.Sealed, []byte(rec.ID))
			switch {
			case err != nil:
				n.Unreadable++
			case current:
				n.Sealed++
			default:
				n.Previous++
			}
		}
	}
	return n, nil
}
