package webhook

import (
	"context"
	"fmt"
)

// SecretCounts are how many secrets of webhooks are stored in which form.
type SecretCounts struct {
	Sealed     int `json:"sealed"`     // encrypted with Options.MasterKey
	Previous   int `json:"previous"`   // encrypted with one of Options.PreviousMasterKeys
	Clear      int `json:"clear"`      // in plain text
	Unreadable int `json:"unreadable"` // encrypted with another key: deliveries wait until they are rotated
}

// SecretCounts counts the current secrets of all webhooks of the caller.
func (s *Service) SecretCounts(ctx context.Context) (n SecretCounts, err error) {
	all, err := readAll(ctx, s.reader())
	if err != nil {
		return SecretCounts{}, fmt.Errorf("count secrets: %w", err)
	}
	now := s.now()
	for _, rec := range all {
		for _, secret := range rec.Secrets {
			switch {
			case !s.covers(rec.Products) || !secret.isLive(now):
			case secret.Sealed == nil:
				n.Clear++
			default:
				_, current, err := s.box().Open(secret.Sealed, []byte(rec.ID))
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
	}
	return n, nil
}
