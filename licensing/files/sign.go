package files

import (
	"context"
	"crypto"
	"fmt"

	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
)

// Keys returns all signing keys, oldest first. The first call for a store
// creates two: one is active, and the other is next.
func (s *Service) Keys(ctx context.Context) ([]Key, error) {
	all, err := s.current(ctx)
	if err != nil {
		return nil, err
	}
	keys := make([]Key, len(all))
	for i, rec := range all {
		if keys[i], err = s.key(rec); err != nil {
			return nil, err
		}
	}
	return keys, nil
}

// KeySet returns the published keys, oldest first, for programs to pin: those
// that are next, active or verify. Its JSON form is a JWKS.
func (s *Service) KeySet(ctx context.Context) (*licensefile.KeySet, error) {
	all, err := s.recent(ctx)
	if err != nil {
		return nil, err
	}
	var published []crypto.PublicKey
	for _, rec := range all {
		if !rec.State.published() {
			continue
		}
		public, err := rec.public()
		if err != nil {
			return nil, fmt.Errorf("signing key %s: %w", rec.ID, err)
		}
		published = append(published, public)
	}
	return licensefile.NewKeySet(published...)
}

// Sign returns the license file with claims c, signed with the active key. It
// does not look at the license that the claims name. A file for an office
// is followed by a space and the revocation list of its license, which the office
// passes on. It returns the errors of [licensefile.Sign] and of
// [Service.LicenseRevocations], or says why the private half of the key cannot be used.
// In an office, it lends the license as [licensefile.Lender.Sign] does.
func (s *Service) Sign(ctx context.Context, c licensefile.Claims) (file string, err error) {
	if s.lender != nil {
		return s.lender.Sign(c)
	}
	all, err := s.recent(ctx)
	if err != nil {
		return "", err
	}
	active := all.find(KeyActive)
	signer, err := s.cachedSigner(*active)
	if err != nil {
		return "", fmt.Errorf("signing key %s: %w", active.ID, err)
	}
	text, err := licensefile.Sign(c, signer)
	if err != nil {
		return "", err
	}
	if c.Office == nil {
		return text, nil
	}
	list, err := s.LicenseRevocations(ctx, c.ProductID, c.LicenseID)
	if err != nil {
		return "", err
	}
	return text + " " + list, nil
}

// OfficeRequest returns the request of this office, to take to the vendor: for a number of
// seats of the license with a key as typed, with how much the office has counted of its
// meters so far. The vendor counts what it did not know of, whether or not it answers with a
// file. Make a new request each time; an older one counts nothing more. Before the office has
// its first file, use [licensefile.SignOfficeRequest]. It returns [ErrNoOffice],
// [api.ErrNotFound] if the store does not have the license, or the errors of
// SignOfficeRequest.
func (s *Service) OfficeRequest(ctx context.Context, licenseKey string, seats int64) (text string, err error) {
	if s.lender == nil {
		return "", ErrNoOffice
	}
	totals, err := s.totals(ctx)
	if err == nil {
		request := licensefile.OfficeRequest{Seats: seats, KeyHash: licensefile.KeyHash(licenseKey), Meters: totals}
		text, err = licensefile.SignOfficeRequest(request, s.hostKeys[0].Signer) // its only key
	}
	if err != nil {
		return "", fmt.Errorf("office request: %w", err)
	}
	return text, nil
}
