package files

import (
	"context"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
)

const (
	licenseListKept  = 5 * time.Second // how long the list of a license is returned again
	licenseListsMost = 1000            // how many are kept
)

// A listedLicense is a license on the revocation list of a product.
type listedLicense struct{ productID, licenseID string }

// LicenseRevocations returns a revocation list that is about one license of a
// product, valid for seven days, at the same small cost for any number of licenses
// whose files are refused. A change appears immediately. As long as nothing changes,
// a license on the list of its product is signed, and its sequence stored, every five
// seconds at most.
//
// It returns an error that wraps [api.ErrNotFound] if there is no such license of the
// product, and the errors of [Service.SignRevocations]. In an office, the
// list is that of the vendor.
func (s *Service) LicenseRevocations(ctx context.Context, productID, licenseID string) (signed string, err error) {
	if s.lender != nil {
		return s.passOn(productID)
	}
	refused, changed, err := s.revoked(ctx, productID, licenseID)
	if err != nil {
		return "", err
	}
	list := licensefile.Revocations{ProductID: productID, LicenseHash: licensefile.LicenseHash(licenseID), Licenses: refused}
	if len(refused) == 0 {
		list.Licenses = []licensefile.RevokedLicense{{Hash: list.LicenseHash, MinGeneration: 1, Until: s.now().Add(listValid)}}
		return s.signList(ctx, list, false)
	}
	all, err := s.recent(ctx)
	if err != nil {
		return "", err
	}
	content, err := contentOf(all, refused, changed)
	if err != nil {
		return "", err
	}
	kept := s.cache.licenseList(listedLicense{productID, licenseID})
	select {
	case kept.turn <- struct{}{}:
		defer func() { <-kept.turn }()
	case <-ctx.Done():
		return "", ctx.Err()
	}
	if now := s.now(); kept.text == "" || kept.content != content || now.Sub(kept.signedAt).Abs() >= licenseListKept {
		text, err := s.signList(ctx, list, true)
		if err != nil {
			return "", err
		}
		kept.text, kept.content, kept.signedAt = text, content, now
	}
	return kept.text, nil
}

// licenseList returns the last list of a license. It drops all lists when there are
// licenseListsMost, which costs each of them one signature.
func (c *cache) licenseList(of listedLicense) *signedList {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := c.licenses[of]
	if list == nil {
		if c.licenses == nil || len(c.licenses) >= licenseListsMost {
			c.licenses = make(map[listedLicense]*signedList)
		}
		list = &signedList{turn: make(chan struct{}, 1)}
		c.licenses[of] = list
	}
	return list
}
