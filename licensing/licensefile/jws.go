package licensefile

import (
	"crypto"
	"crypto/rand"
	"crypto/sha256"
	"encoding/asn1"
	"encoding/base64"
	"fmt"
	"math/big"
	"strings"
)

// base64url is the encoding of the parts of a JWS. Strict refuses trailing bits
// that are not zero.
var base64url = base64.RawURLEncoding.Strict()

// decode decodes canonical base64url. The package base64 ignores line breaks,
// so a text with some would have several encodings.
func decode(part string) ([]byte, error) {
	data, err := base64url.DecodeString(part)
	if err != nil || strings.ContainsAny(part, "\r\n") {
		return nil, ErrEncoding
	}
	return data, nil
}

// maxHeader is an upper bound of the length of the header and the signature
// that sign adds to a payload, with the dots, without the file of an office.
const maxHeader = 256

// maxHeaderText is the longest encoded header that is decoded. It is longer than
// that of sign, for other libraries.
const maxHeaderText = 4 << 10

// compactSize returns an upper bound of the length of a signed payload.
func compactSize(payload []byte) int {
	return maxHeader + base64url.EncodedLen(len(payload))
}

// header is the JOSE header that sign writes.
type header struct {
	Algorithm string `json:"alg"`
	KeyID     string `json:"kid"`
	Type      string `json:"typ"`
	Office    string `json:"office,omitempty"` // the license file of the office that signs
}

// sign returns a compact JWS (RFC 7515), with the license file of the office that
// signs; empty: the vendor signs.
func sign(typ string, payload []byte, signer crypto.Signer, office string) (string, error) {
	k, err := newKey(signer.Public())
	if err != nil {
		return "", err
	}
	head, err := encode(header{Algorithm: k.jwk.Algorithm, KeyID: k.id, Type: typ, Office: office})
	if err != nil {
		return "", err
	}
	text := base64url.EncodeToString(head) + "." + base64url.EncodeToString(payload)
	var signature []byte
	if k.jwk.Algorithm == algEdDSA {
		signature, err = signer.Sign(rand.Reader, []byte(text), crypto.Hash(0))
	} else {
		digest := sha256.Sum256([]byte(text))
		if signature, err = signer.Sign(rand.Reader, digest[:], crypto.SHA256); err == nil {
			signature, err = joinSignature(signature)
		}
	}
	if err != nil {
		return "", fmt.Errorf("licensefile: sign with key %s: %w", k.id, err)
	}
	if len(signature) != signatureSize {
		return "", fmt.Errorf("licensefile: sign with key %s: the signer returned %d bytes", k.id, len(signature))
	}
	return text + "." + base64url.EncodeToString(signature), nil
}

// joinSignature turns an ECDSA signature in ASN.1, as a [crypto.Signer] returns
// it, into the two numbers that ES256 has (RFC 7518 section 3.4).
func joinSignature(der []byte) ([]byte, error) {
	var numbers struct{ R, S *big.Int }
	rest, err := asn1.Unmarshal(der, &numbers)
	if err != nil || len(rest) > 0 || numbers.R.Sign() <= 0 || numbers.S.Sign() <= 0 ||
		numbers.R.BitLen() > 256 || numbers.S.BitLen() > 256 {
		return nil, fmt.Errorf("the signer did not return an ECDSA signature on P-256")
	}
	joined := make([]byte, signatureSize)
	numbers.R.FillBytes(joined[:32])
	numbers.S.FillBytes(joined[32:])
	return joined, nil
}

// open verifies a compact JWS of a type and returns its payload, which only
// the holder of the key can have written, and the ID of the key. White space
// around the text is ignored, because mail programs and editors add it.
func (s *KeySet) open(typ, text string, most int) (payload []byte, keyID string, err error) {
	text = strings.Trim(text, " \t\r\n")
	if len(text) > most {
		return nil, "", fmt.Errorf("%w of %d bytes", ErrTooLarge, most)
	}
	parts := strings.SplitN(text, ".", 4)
	switch {
	case len(parts[0]) > maxHeaderText:
		return nil, "", fmt.Errorf("%w of %d bytes for a header", ErrTooLarge, maxHeaderText)
	case len(parts) < 3:
		return nil, "", ErrTruncated
	case len(parts) > 3:
		return nil, "", fmt.Errorf("%w: more than three parts", ErrMalformed)
	}
	head, err := decode(parts[0])
	if err != nil {
		return nil, "", err
	}
	k, err := s.signedBy(typ, head)
	if err != nil {
		return nil, "", err
	}
	if len(parts[2]) < base64url.EncodedLen(signatureSize) {
		return nil, "", ErrTruncated
	}
	signature, err := decode(parts[2])
	if err != nil {
		return nil, "", err
	}
	if payload, err = decode(parts[1]); err != nil {
		return nil, "", err
	}
	if len(signature) != signatureSize || !k.verify([]byte(text[:len(parts[0])+1+len(parts[1])]), signature) {
		return nil, "", ErrSignature
	}
	return payload, k.id, nil
}

// signedBy checks a header and returns the key that it names. The key decides
// the algorithm. Members that say where to get a key (jku, jwk, x5c) are
// ignored.
func (s *KeySet) signedBy(typ string, head []byte) (key, error) {
	all, err := object(head)
	if err != nil {
		return key{}, err
	}
	has := func(name string) bool { _, present := all[name]; return present }
	switch {
	case has("crit"):
		return key{}, ErrCritical
	case has("zip"):
		return key{}, ErrCompressed
	case has("b64"):
		return key{}, ErrUnencoded
	case !has("kid"):
		return key{}, ErrNoKeyID
	}
	m := members{from: all}
	alg, id, is := m.text("alg", true), m.text("kid", true), m.text("typ", false)
	if m.err != nil {
		return key{}, m.err
	}
	if is != typ {
		return key{}, fmt.Errorf("%w: %.64q instead of %q", ErrType, is, typ)
	}
	k, err := s.find(id)
	if err != nil {
		return key{}, err
	}
	if !k.allows(alg) {
		return key{}, fmt.Errorf("%w: %.64q", ErrAlgorithm, alg)
	}
	return k, nil
}
