package licensefile

import (
	"crypto"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Type is the typ in the header of a license file.
const Type = "license-file+jwt"

// MaxSize is the maximum size of a license file, in bytes.
const MaxSize = 32 << 10

// Leeway is how far a program's clock may lag the service's.
// A file that expires has none.
const Leeway = 5 * time.Minute

// A File is a license file whose signature has been verified. [File.Check]
// tells whether it applies here and now.
type File struct {
	Claims
	KeyID string // the key that signed it or, if an office has, the file of the office

	// Lender are the claims of the file of the office that signed this one; nil: the
	// vendor signed it. The vendor vouches for the times of the lender only.
	Lender *Claims
}

// Sign returns the license file with claims c. The public half of the signer is
// an [ed25519.PublicKey] (EdDSA) or an [*ecdsa.PublicKey] on P-256 (ES256). It
// returns [ErrMalformed] if a required claim is missing, [ErrTooLarge],
// [ErrKeyType], or an error of the signer.
func Sign(c Claims, signer crypto.Signer) (file string, err error) {
	payload, err := c.payload()
	if err != nil {
		return "", err
	}
	return sign(Type, payload, signer, "")
}

// Verify verifies the signature of a license file and reads its claims. It does
// not look at the clock; call [File.Check] next. White space around the text is
// ignored. It returns [ErrTooLarge], [ErrTruncated], [ErrEncoding],
// [ErrMalformed], [ErrDuplicate], [ErrType], [ErrCritical], [ErrCompressed],
// [ErrUnencoded], [ErrNoKeyID], [ErrUnknownKey], [ErrCondemnedKey],
// [ErrAlgorithm] or [ErrSignature].
//
// A file that an office signed has the file of the office in its header. Both are
// verified. The claims are those of the office's file, but for ID, ActivationID,
// FingerprintHash, RecheckAfter, Nonce and an earlier ExpiresAt; IssuedAt and NotBefore
// are the later ones. If the office may not lend such a file, the error is [ErrLent].
func (s *KeySet) Verify(text string) (File, error) {
	f, err := s.verify(text)
	if errors.Is(err, ErrUnknownKey) {
		if lender := lenderOf(text); lender != "" {
			return s.verifyLent(lender, text)
		}
	}
	return f, err
}

// verify verifies a file that a key of the set signed.
func (s *KeySet) verify(text string) (File, error) {
	payload, id, err := s.open(Type, text, MaxSize)
	if err != nil {
		return File{}, err
	}
	f := File{KeyID: id}
	if err := f.Claims.UnmarshalJSON(payload); err != nil {
		return File{}, err
	}
	return f, nil
}

// Expect is what a program expects of a license file. ProductID is required.
type Expect struct {
	ProductID string
	// Fingerprint is that of this machine. A file without a fingerprint is
	// accepted on any machine; a file with one needs this one.
	Fingerprint string
	// Nonce is that of the request which the file must answer; empty: any.
	Nonce string
	// BuiltAt is when this build of the program was made; zero: not checked.
	BuiltAt time.Time
	// MinGeneration is the highest generation that the program has seen in a
	// file of this license; 0: none.
	MinGeneration int64
	// Now is the time; zero: [time.Now].
	Now time.Time
	// Floor is the latest time that the program knows to have passed;
	// zero: none. A clock more than [Leeway] before it was set back.
	Floor time.Time
	// Revocations is the newest revocation list of the product, or of the license;
	// nil: none. Its age is not checked; see [Revocations.Check].
	Revocations *Revocations
}

// Check returns why a file does not apply here and now; nil: it does. It
// returns, in this order, [ErrProduct], [ErrOffice], [ErrFingerprint], [ErrNonce],
// [ErrCondemnedKey], [ErrOtherLicense], [ErrRevoked], [ErrOldGeneration], [ErrClock], [ErrEarly],
// [ErrExpired] or [ErrUpdatesEnded].
func (f File) Check(want Expect) error {
	now := want.Now
	if now.IsZero() {
		now = time.Now()
	}
	switch {
	case f.ProductID != want.ProductID:
		return fmt.Errorf("%w: %.64q", ErrProduct, f.ProductID)
	case f.Office != nil:
		return ErrOffice
	case f.FingerprintHash != "" && f.FingerprintHash != FingerprintHash(f.LicenseID, want.Fingerprint):
		return ErrFingerprint
	case want.Nonce != "" && f.Nonce != want.Nonce:
		return ErrNonce
	}
	if list := want.Revocations; list != nil {
		if err := list.refuses(f); err != nil {
			return err
		}
	}
	switch late := now.Add(Leeway); {
	case f.Generation < want.MinGeneration:
		return ErrOldGeneration
	case late.Before(want.Floor), late.Before(f.IssuedAt):
		return ErrClock
	case late.Before(f.NotBefore):
		return fmt.Errorf("%w: it begins at %s", ErrEarly, f.NotBefore.Format(time.RFC3339))
	case !now.Before(f.ExpiresAt):
		return fmt.Errorf("%w at %s", ErrExpired, f.ExpiresAt.Format(time.RFC3339))
	case !f.UpdatesUntil.IsZero() && want.BuiltAt.Truncate(time.Second).After(f.UpdatesUntil):
		return fmt.Errorf("%w at %s", ErrUpdatesEnded, f.UpdatesUntil.Format(time.RFC3339))
	}
	return nil
}

// refuses returns why the list refuses a file; nil: it does not.
func (r *Revocations) refuses(f File) error {
	if r.ProductID != f.ProductID {
		return fmt.Errorf("%w: the revocation list is for %.64q", ErrProduct, r.ProductID)
	}
	if slices.Contains(r.CondemnedKeys, f.KeyID) {
		return fmt.Errorf("%w: kid %.64q", ErrCondemnedKey, f.KeyID)
	}
	if !r.Covers(f.LicenseID) {
		return ErrOtherLicense
	}
	hash := LicenseHash(f.LicenseID)
	i := slices.IndexFunc(r.Licenses, func(l RevokedLicense) bool { return l.Hash == hash })
	switch {
	case i < 0 || f.Generation >= r.Licenses[i].MinGeneration:
		return nil
	case r.Licenses[i].MinGeneration == AllGenerations:
		return ErrRevoked
	}
	return ErrOldGeneration
}

// FingerprintHash returns the fingerprint_hash of a file: SHA-256 of
// "licensekit-fp", a zero byte, the license ID, a zero byte and the
// fingerprint, in base64url. It is empty for an empty fingerprint.
func FingerprintHash(licenseID, fingerprint string) string {
	if fingerprint == "" {
		return ""
	}
	sum := sha256.Sum256([]byte("licensekit-fp\x00" + licenseID + "\x00" + fingerprint))
	return base64url.EncodeToString(sum[:])
}
