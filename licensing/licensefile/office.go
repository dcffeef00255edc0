package licensefile

import (
	"crypto"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// An Office is the claim of a license file that allows an office to lend the license:
// the holder of Key signs license files for programs on a network without internet,
// for the same license and product, until the file of the office expires.
type Office struct {
	Key   crypto.PublicKey // jwk: an [ed25519.PublicKey] or an [*ecdsa.PublicKey] on P-256
	Seats int64            // seats: how many programs it may lend the license to at a time, from 1 on
	// Meters (meters) are those of the license when the file was issued, by name, with
	// which the office counts usage. Programs ignore them.
	Meters map[string]Meter
}

// A Meter says how much of something an office counts at most. Its JSON form is that of a
// meter of the API.
type Meter struct {
	Limit *int64 `json:"limit,omitempty"` // units in one period; nil: usage is only counted
	Soft  bool   `json:"soft,omitempty"`  // usage above Limit is counted, too, instead of being refused
	Per   string `json:"per,omitempty"`   // when counting starts again at 0, such as "month"; empty: never
}

// OfficeFingerprint returns the fingerprint of seat n, from 1 on, that the license
// gives to an office: "office:", the [KeyID] of the office, ":" and n. The file of
// an office is for seat 1.
func OfficeFingerprint(keyID string, n int64) string { return fmt.Sprintf("office:%s:%d", keyID, n) }

// wireOffice is the encoding of an Office.
type wireOffice struct {
	Key    jwk              `json:"jwk"`
	Seats  int64            `json:"seats"`
	Meters map[string]Meter `json:"meters,omitempty"`
}

// wire returns the encoding of an office; nil: there is none.
func (o *Office) wire() (*wireOffice, error) {
	if o == nil {
		return nil, nil
	}
	k, err := newKey(o.Key)
	if err == nil {
		err = k.check()
	}
	if err == nil && (o.Seats < 1 || o.Seats > maxNumber) {
		err = fmt.Errorf("%w: the office has no seats", ErrMalformed)
	}
	return &wireOffice{k.jwk, o.Seats, o.Meters}, err
}

// office reads the claim; nil: there is none.
func (m *members) office() *Office {
	var raw json.RawMessage
	if m.read("office", false, &raw); m.err != nil || raw == nil {
		return nil
	}
	all, err := object(raw)
	if err != nil {
		m.err = err
		return nil
	}
	in := members{from: all}
	o := &Office{Key: in.jwk(), Seats: in.number("seats", true, 1)}
	in.read("meters", false, &o.Meters)
	m.err = in.err
	return o
}

// jwk reads the public key in the member jwk.
func (m *members) jwk() crypto.PublicKey {
	var raw json.RawMessage
	if m.read("jwk", true, &raw); m.err != nil {
		return nil
	}
	k, known, err := parseKey(raw)
	if err == nil && known {
		err = k.check()
	} else if err == nil {
		err = ErrKeyType
	}
	m.err = err
	return k.public
}

// maxOfficeFile is the maximum size of the file of an office, in bytes. It is in the
// header of each file that the office signs, encoded once more.
const maxOfficeFile = maxHeaderText/4*3 - 128

// lenderOf returns the file of an office in the header of a text; empty: there is none.
func lenderOf(text string) string {
	first, _, _ := strings.Cut(strings.Trim(text, " \t\r\n"), ".")
	if len(first) > maxHeaderText {
		return ""
	}
	head, err := decode(first)
	if err != nil {
		return ""
	}
	all, err := object(head)
	m := members{from: all, err: err}
	return m.text("office", false)
}

// verifyLent verifies a file that an office signed, whose own file is lender. That
// one says everything but which machine the file is for, and its times within those
// of the lender's.
func (s *KeySet) verifyLent(lender, text string) (File, error) {
	parent, err := s.verify(lender)
	if err != nil {
		return File{}, fmt.Errorf("the file of the office: %w", err)
	}
	if parent.Office == nil {
		return File{}, fmt.Errorf("%w: the file in the header is not that of an office", ErrLent)
	}
	k, err := newKey(parent.Office.Key)
	if err != nil {
		return File{}, err
	}
	lent, err := (&KeySet{keys: []key{k}}).verify(text)
	if err != nil {
		return File{}, err
	}
	switch {
	case lent.LicenseID != parent.LicenseID, lent.ProductID != parent.ProductID:
		return File{}, fmt.Errorf("%w: for another license or product", ErrLent)
	case lent.ActivationID == "", lent.FingerprintHash == "":
		return File{}, fmt.Errorf("%w: for any machine", ErrLent)
	case lent.ExpiresAt.After(parent.ExpiresAt):
		return File{}, fmt.Errorf("%w: for longer than the office has the license", ErrLent)
	case lent.Office != nil:
		return File{}, fmt.Errorf("%w: for another office", ErrLent)
	}
	f := File{Claims: parent.Claims, KeyID: parent.KeyID, Lender: &parent.Claims}
	f.Office = nil
	f.ID, f.ActivationID, f.FingerprintHash = lent.ID, lent.ActivationID, lent.FingerprintHash
	f.IssuedAt, f.NotBefore = latest(lent.IssuedAt, parent.IssuedAt), latest(lent.NotBefore, parent.NotBefore)
	f.ExpiresAt, f.RecheckAfter, f.Nonce = lent.ExpiresAt, lent.RecheckAfter, lent.Nonce
	return f, nil
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// A Lender signs the license files of an office. It is safe for concurrent use if its
// signer is.
type Lender struct {
	Claims      Claims // of the file of the office, which is not verified here
	Revocations string // the revocation list of the vendor; empty: none
	signer      crypto.Signer
	file        string
}

// NewLender returns the Lender for the vendor's answer to the request of an office:
// the license file of the office and, after white space, a revocation list of the
// vendor, which may be missing. The programs verify both. It returns [ErrLent] if the
// file is not that of the office with this key, or why the file cannot be read.
func NewLender(answer string, signer crypto.Signer) (*Lender, error) {
	texts := strings.Fields(answer)
	if len(texts) < 1 || len(texts) > 2 {
		return nil, fmt.Errorf("%w: the answer to an office is a license file and a revocation list", ErrMalformed)
	}
	l := &Lender{signer: signer, file: texts[0], Revocations: strings.Join(texts[1:], "")}
	parts := strings.Split(l.file, ".")
	if len(parts) != 3 {
		return nil, ErrTruncated
	}
	payload, err := decode(parts[1])
	if err == nil {
		err = l.Claims.UnmarshalJSON(payload)
	}
	if err == nil && l.Claims.Office == nil {
		err = fmt.Errorf("%w: the license file is not that of an office", ErrLent)
	}
	if err != nil {
		return nil, err
	}
	id, err := KeyID(signer.Public())
	of, ofErr := KeyID(l.Claims.Office.Key)
	if err = errors.Join(err, ofErr); err == nil && id != of {
		err = fmt.Errorf("%w: the license file is that of an office with another key", ErrLent)
	}
	return l, err
}

// Sign returns a license file that lends the license. Of c, it has what an office
// says: the ID, the activation, the fingerprint, the times, the nonce and
// RecheckAfter. It expires with the file of the office at the latest. It returns the
// errors of the function Sign, and [ErrLent] for another license or product.
func (l *Lender) Sign(c Claims) (string, error) {
	of := l.Claims
	if c.LicenseID != of.LicenseID || c.ProductID != of.ProductID || c.ActivationID == "" || c.FingerprintHash == "" {
		return "", fmt.Errorf("%w: an office signs files of one license, for one machine each", ErrLent)
	}
	lent := Claims{
		ID: c.ID, LicenseID: c.LicenseID, ProductID: c.ProductID, Generation: of.Generation,
		IssuedAt: c.IssuedAt, NotBefore: c.NotBefore, ExpiresAt: c.ExpiresAt,
		ActivationID: c.ActivationID, FingerprintHash: c.FingerprintHash, RecheckAfter: c.RecheckAfter, Nonce: c.Nonce,
	}
	if lent.ExpiresAt.After(of.ExpiresAt) {
		lent.ExpiresAt = of.ExpiresAt
	}
	payload, err := lent.payload()
	if err != nil {
		return "", err
	}
	return sign(Type, payload, l.signer, l.file)
}
