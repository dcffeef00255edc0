package licensefile

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math/big"
)

// A key is a public key with what the format derives from it.
type key struct {
	id     string
	public crypto.PublicKey // ed25519.PublicKey or *ecdsa.PublicKey on P-256
	jwk    jwk
}

// A jwk is a public JSON Web Key (RFC 7517). The members before Y are in the
// order that a thumbprint needs.
type jwk struct {
	Curve     string `json:"crv"`
	Type      string `json:"kty"`
	X         string `json:"x"`
	Y         string `json:"y,omitempty"`
	ID        string `json:"kid,omitempty"`
	Algorithm string `json:"alg,omitempty"`
	Use       string `json:"use,omitempty"`
}

// Algorithms, as in the alg of a header.
const (
	algEdDSA   = "EdDSA"
	algEd25519 = "Ed25519" // the same signatures, by their name in RFC 9864
	algES256   = "ES256"
)

// signatureSize is the length of a signature of either algorithm, in bytes.
const signatureSize = 64

// KeyID returns the ID of a key, which is the kid of the files that it signs:
// the RFC 7638 thumbprint with SHA-256. The key is an [ed25519.PublicKey] or an
// [*ecdsa.PublicKey] on P-256; any other is [ErrKeyType], and so is an Ed25519 key
// that is no point on the curve, or one of low order.
func KeyID(public crypto.PublicKey) (string, error) {
	k, err := newKey(public)
	if err == nil {
		err = k.check()
	}
	if err != nil {
		return "", err
	}
	return k.id, nil
}

// check returns an error if anybody could sign with the key. Signing does not
// need it.
func (k key) check() error {
	if p, ok := k.public.(ed25519.PublicKey); ok && !isStrong(p) {
		return fmt.Errorf("%w: not a point on Ed25519 that can be a key", ErrKeyType)
	}
	return nil // the package ecdsa has checked the point
}

func newKey(public crypto.PublicKey) (key, error) {
	k := key{public: public}
	switch p := public.(type) {
	case ed25519.PublicKey:
		if len(p) != ed25519.PublicKeySize {
			return key{}, fmt.Errorf("%w: an Ed25519 key has %d bytes", ErrKeyType, ed25519.PublicKeySize)
		}
		k.jwk = jwk{Curve: "Ed25519", Type: "OKP", X: base64url.EncodeToString(p)}
		k.jwk.Algorithm = algEdDSA
	case *ecdsa.PublicKey:
		if p == nil || p.Curve != elliptic.P256() {
			return key{}, fmt.Errorf("%w: the curve is not P-256", ErrKeyType)
		}
		point, err := p.Bytes()
		if err != nil {
			return key{}, fmt.Errorf("%w: %w", ErrKeyType, err)
		}
		k.jwk = jwk{Curve: "P-256", Type: "EC", X: base64url.EncodeToString(point[1:33]), Y: base64url.EncodeToString(point[33:])}
		k.jwk.Algorithm = algES256
	default:
		return key{}, fmt.Errorf("%w: %T", ErrKeyType, public)
	}
	hashed, err := encode(jwk{Curve: k.jwk.Curve, Type: k.jwk.Type, X: k.jwk.X, Y: k.jwk.Y})
	if err != nil {
		return key{}, err
	}
	sum := sha256.Sum256(hashed)
	k.id = base64url.EncodeToString(sum[:])
	k.jwk.ID, k.jwk.Use = k.id, "sig"
	return k, nil
}

// parseKey reads one member of a JWKS. It returns false for a key of a type
// that this version does not know, which RFC 7517 says to ignore.
func parseKey(raw json.RawMessage) (k key, known bool, err error) {
	all, err := object(raw)
	if err != nil {
		return key{}, false, err
	}
	if _, private := all["d"]; private {
		return key{}, false, ErrPrivateKey
	}
	m := members{from: all}
	j := jwk{Type: m.text("kty", true), Curve: m.text("crv", false)}
	if m.err != nil || !(j.Type == "OKP" && j.Curve == "Ed25519" || j.Type == "EC" && j.Curve == "P-256") {
		return key{}, false, m.err
	}
	j.X, j.Y = m.text("x", true), m.text("y", j.Type == "EC")
	j.ID, j.Algorithm, j.Use = m.text("kid", false), m.text("alg", false), m.text("use", false)
	if m.err != nil {
		return key{}, false, m.err
	}
	x, err := decode(j.X)
	if err != nil {
		return key{}, false, err
	}
	var public crypto.PublicKey = ed25519.PublicKey(x)
	if j.Type == "EC" {
		y, err := decode(j.Y)
		if err != nil {
			return key{}, false, err
		}
		if public, err = ecdsa.ParseUncompressedPublicKey(elliptic.P256(), append(append([]byte{4}, x...), y...)); err != nil || len(x) != 32 {
			return key{}, false, fmt.Errorf("%w: not a point on P-256", ErrKeyType)
		}
	}
	if k, err = newKey(public); err != nil {
		return key{}, false, err
	}
	switch {
	case j.ID != "" && j.ID != k.id:
		return key{}, false, fmt.Errorf("%w: %.64q", ErrKeyID, j.ID)
	case j.Algorithm != "" && !k.allows(j.Algorithm), j.Use != "" && j.Use != "sig":
		return key{}, false, fmt.Errorf("%w: the key is for another alg or use", ErrKeyType)
	}
	return k, true, nil
}

// allows reports whether signatures of the key may have this alg.
func (k key) allows(alg string) bool {
	return alg == k.jwk.Algorithm || alg == algEd25519 && k.jwk.Algorithm == algEdDSA
}

// verify reports whether the signature of message, which has signatureSize
// bytes, is the key's.
func (k key) verify(message, signature []byte) bool {
	switch p := k.public.(type) {
	case ed25519.PublicKey:
		return ed25519.Verify(p, message, signature)
	case *ecdsa.PublicKey:
		digest := sha256.Sum256(message)
		r, s := new(big.Int).SetBytes(signature[:32]), new(big.Int).SetBytes(signature[32:])
		return ecdsa.Verify(p, digest[:], r, s)
	}
	return false
}
