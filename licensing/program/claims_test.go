package program

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
)

// newKey returns a signing key, and its public half as a JWKS.
func newKey(t *testing.T) (jwks []byte, key ed25519.PrivateKey) {
	t.Helper()
	public, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	set, err := licensefile.NewKeySet(public)
	if err != nil {
		t.Fatal(err)
	}
	if jwks, err = json.Marshal(set); err != nil {
		t.Fatal(err)
	}
	return jwks, key
}

// claimsOf reads a license file without verifying it.
func claimsOf(t *testing.T, text string) (c licensefile.Claims) {
	t.Helper()
	payload, err := base64.RawURLEncoding.DecodeString(strings.Split(text, ".")[1])
	if err == nil {
		err = c.UnmarshalJSON(payload)
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// signed returns a license file for a fingerprint, which lasts three days.
func signed(t *testing.T, key ed25519.PrivateKey, fingerprint string, change ...func(*licensefile.Claims)) string {
	t.Helper()
	now := time.Now().Truncate(time.Second)
	c := licensefile.Claims{
		ID: "file-1", LicenseID: "lic_1", ProductID: "atlas", Name: "Acme Ltd", Generation: 1, IssuedAt: now, NotBefore: now, ExpiresAt: now.Add(3 * day),
		FingerprintHash: licensefile.FingerprintHash("lic_1", fingerprint), Entitlements: map[string]any{"export": true},
	}
	for _, f := range change {
		f(&c)
	}
	text, err := licensefile.Sign(c, key)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// list returns a signed revocation list that was issued at a time.
func list(t *testing.T, key ed25519.PrivateKey, issued time.Time, change ...func(*licensefile.Revocations)) string {
	t.Helper()
	issued = issued.Truncate(time.Second)
	r := licensefile.Revocations{ProductID: "atlas", Sequence: issued.UnixMilli(), IssuedAt: issued, ExpiresAt: issued.Add(7 * day)}
	for _, f := range change {
		f(&r)
	}
	text, err := licensefile.SignRevocations(r, key)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
