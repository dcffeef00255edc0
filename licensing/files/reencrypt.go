package files

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/seed-d8a106b4/licensekit/internal/seal"
	"github.com/seed-d8a106b4/licensekit/store"
)

// Reencrypt encrypts the stored private halves with the current master key. One
// that cannot be read counts only if [Service.SecretCounts] counts it.
func (i internals) Reencrypt(ctx context.Context) (seal.Renewed, error) {
	box := i.s.box()
	return seal.Renew(ctx, i.s.st, kind, func(e store.Entry, n *seal.Renewed) (data []byte, err error) {
		rec, err := readRecord(e)
		if err != nil || !rec.stored() {
			return nil, err
		}
		sealed, err := box.Renew(n, rec.Clear, rec.Sealed, []byte(rec.ID))
		if !rec.inUse() {
			n.Unreadable = 0
		}
		if err != nil || sealed == nil {
			return nil, err
		}
		rec.Clear, rec.Sealed = nil, sealed
		return json.Marshal(rec)
	})
}

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

// box seals the private halves of signing keys.
func (s *Service) box() seal.Box {
	return seal.New("licensekit signing key", "the private key", s.opts.MasterKey, s.opts.PreviousMasterKeys)
}

// warn logs once that private keys are stored unencrypted.
func (s *Service) warn() {
	s.warned.Do(func() {
		s.opts.Logger.Warn("licensing: signing keys are stored in plain text; set Options.MasterKey to encrypt them")
	})
}
