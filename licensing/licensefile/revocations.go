package licensefile

import (
	"crypto"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// RevocationsType is the typ in the header of a revocation list.
const RevocationsType = "license-revocations+jwt"

// MaxListSize is the maximum size of a revocation list, in bytes.
const MaxListSize = 8 << 20

// MaxListed is how many licenses the service names in a revocation list at most.
// Any list of as many is smaller than [MaxListSize].
const MaxListed = 80_000

// AllGenerations is the MinGeneration of a license of which all files are
// refused.
const AllGenerations = maxNumber

// Revocations is the list of the files of one product that are refused before
// they expire. The service signs a new list with a higher sequence at least
// daily.
type Revocations struct {
	ProductID string
	// LicenseHash is the [LicenseHash] of the license that the list is about.
	// Licenses then has that license only, with a MinGeneration of 1 if none of
	// its files are refused. Empty: the list is about every license of the product.
	LicenseHash string
	// Sequence rises with each list: Unix milliseconds, or one more than in
	// the previous list if that is higher.
	Sequence  int64
	IssuedAt  time.Time
	ExpiresAt time.Time // when the program should have a newer list
	Licenses  []RevokedLicense
	// CondemnedKeys are the IDs of compromised keys. A list can condemn only
	// keys before the one that signed it; [KeySet.VerifyRevocations] drops
	// others.
	CondemnedKeys []string
	KeyID         string // the key that signed the list; set by VerifyRevocations
}

// A RevokedLicense is a license of which some files are refused.
type RevokedLicense struct {
	Hash          string    // see [LicenseHash]
	MinGeneration int64     // files of lower generations are refused; see [AllGenerations]
	Until         time.Time // when the last of these files has expired
}

// wireRevocations is the encoding of Revocations. It has no sub and no aud, so
// that verifiers which ignore typ do not take it for a license file.
type wireRevocations struct {
	ProductID string `json:"product_id"`
	Sequence  int64  `json:"seq"`
	IssuedAt  int64  `json:"iat"`
	ExpiresAt int64  `json:"exp"`
	// A list is about the product and has Licenses, or about one license and has
	// License. Readers that know only the first kind refuse the second.
	Licenses []wireRevoked `json:"licenses,omitzero"`
	License  *wireRevoked  `json:"license,omitempty"`
	Keys     []string      `json:"keys,omitempty"`
}

type wireRevoked struct {
	Hash          string `json:"hash"`
	MinGeneration int64  `json:"gen"`
	Until         int64  `json:"until"`
}

// SignRevocations returns a signed revocation list. KeyID is ignored. It returns
// the errors of [Sign].
func SignRevocations(r Revocations, signer crypto.Signer) (string, error) {
	wire := wireRevocations{
		ProductID: r.ProductID, Sequence: r.Sequence, IssuedAt: unix(r.IssuedAt), ExpiresAt: unix(r.ExpiresAt),
		Licenses: make([]wireRevoked, len(r.Licenses)), Keys: r.CondemnedKeys,
	}
	for i, l := range r.Licenses {
		wire.Licenses[i] = wireRevoked{l.Hash, l.MinGeneration, unix(l.Until)}
	}
	if r.LicenseHash != "" {
		if len(wire.Licenses) != 1 || wire.Licenses[0].Hash != r.LicenseHash {
			return "", fmt.Errorf("%w: a revocation list of one license names that license only", ErrMalformed)
		}
		wire.License, wire.Licenses = &wire.Licenses[0], nil
	}
	slices.SortFunc(wire.Licenses, func(a, b wireRevoked) int { return strings.Compare(a.Hash, b.Hash) })
	payload, err := encode(wire)
	if err != nil {
		return "", err
	}
	if compactSize(payload) > MaxListSize {
		return "", fmt.Errorf("%w of %d bytes", ErrTooLarge, MaxListSize)
	}
	if _, err := readRevocations(payload); err != nil {
		return "", err
	}
	return sign(RevocationsType, payload, signer, "")
}

// VerifyRevocations verifies the signature of a revocation list and reads it.
// It does not look at the clock; call [Revocations.Check] next. It returns the
// errors of [KeySet.Verify].
func (s *KeySet) VerifyRevocations(text string) (Revocations, error) {
	payload, id, err := s.open(RevocationsType, text, MaxListSize)
	if err != nil {
		return Revocations{}, err
	}
	r, err := readRevocations(payload)
	if err != nil {
		return Revocations{}, err
	}
	r.KeyID = id
	earlier := s.IDs()[:s.position(id)]
	r.CondemnedKeys = slices.DeleteFunc(r.CondemnedKeys, func(kid string) bool { return !slices.Contains(earlier, kid) })
	return r, nil
}

func readRevocations(payload []byte) (Revocations, error) {
	all, err := object(payload)
	if err != nil {
		return Revocations{}, err
	}
	m := members{from: all}
	for _, name := range []string{"sub", "aud"} {
		if _, present := all[name]; present {
			return Revocations{}, fmt.Errorf("%w: a revocation list has no %q", ErrMalformed, name)
		}
	}
	r := Revocations{
		ProductID: m.text("product_id", true),
		Sequence:  m.number("seq", true, 1),
		IssuedAt:  m.time("iat", true),
		ExpiresAt: m.time("exp", true),
	}
	var list []map[string]json.RawMessage
	_, ofOne := all["license"]
	if _, ofProduct := all["licenses"]; ofOne && ofProduct {
		return Revocations{}, fmt.Errorf("%w: a revocation list has \"licenses\" or \"license\"", ErrMalformed)
	} else if ofOne {
		list = make([]map[string]json.RawMessage, 1)
		m.read("license", true, &list[0])
	} else {
		m.read("licenses", true, &list)
	}
	m.read("keys", false, &r.CondemnedKeys)
	if m.err != nil {
		return Revocations{}, m.err
	}
	for _, one := range list {
		m := members{from: one}
		l := RevokedLicense{Hash: m.text("hash", true), MinGeneration: m.number("gen", true, 1), Until: m.time("until", true)}
		if m.err != nil {
			return Revocations{}, m.err
		}
		r.Licenses = append(r.Licenses, l)
	}
	if ofOne {
		r.LicenseHash = r.Licenses[0].Hash
	}
	return r, nil
}

// Covers reports whether the list is about a license of its product.
func (r Revocations) Covers(licenseID string) bool {
	return r.LicenseHash == "" || r.LicenseHash == LicenseHash(licenseID)
}

// Check returns [ErrProduct] if a list is for another product, [ErrListAhead]
// if its sequence is more than a day after now, so that no honest list would
// ever replace it, or [ErrStaleList] if it has expired. A stale list still
// refuses what it names.
func (r Revocations) Check(productID string, now time.Time) error {
	switch {
	case r.ProductID != productID:
		return fmt.Errorf("%w: %.64q", ErrProduct, r.ProductID)
	case r.Sequence > now.Add(24*time.Hour).UnixMilli():
		return ErrListAhead
	case !now.Before(r.ExpiresAt):
		return fmt.Errorf("%w since %s", ErrStaleList, r.ExpiresAt.Format(time.RFC3339))
	}
	return nil
}

// LicenseHash returns the Hash of a license in a revocation list: the first 16
// bytes of SHA-256 of "licensekit-rl", a zero byte and the license ID, in
// base64url.
func LicenseHash(licenseID string) string {
	sum := sha256.Sum256([]byte("licensekit-rl\x00" + licenseID))
	return base64url.EncodeToString(sum[:16])
}
