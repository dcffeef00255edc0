package licensefile

import (
	"crypto"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
)

func TestParseKeys(t *testing.T) {
	is := is.New(t)
	keys := set(t, edKey('a'), ecKey(t), edKey('b'))
	jwks, err := json.Marshal(keys)
	is.NoErr(err)
	read, err := ParseKeys(jwks)
	is.NoErr(err)
	is.Equal(read.IDs(), keys.IDs())
	again, err := json.Marshal(read)
	is.NoErr(err)
	is.Equal(string(again), string(jwks))
}

func TestParseKeysRefuses(t *testing.T) {
	ed, ec := must(newKey(edKey('a').Public())), must(newKey(ecKey(t).Public()))
	edJWK, ecJWK := string(must(encode(ed.jwk))), string(must(encode(ec.jwk)))
	in := func(jwks ...string) string { return `{"keys":[` + strings.Join(jwks, ",") + `]}` }
	for name, c := range map[string]struct {
		jwks string
		want error
	}{
		"both keys":               {in(edJWK, ecJWK), nil},
		"unknown types beside":    {in(`{"kty":"RSA","n":"x","e":"AQAB"}`, `{"kty":"OKP","crv":"X25519","x":"x"}`, edJWK), nil},
		"without optional member": {in(`{"kty":"OKP","crv":"Ed25519","x":"` + ed.jwk.X + `"}`), nil},
		"alg Ed25519":             {in(strings.Replace(edJWK, "EdDSA", "Ed25519", 1)), nil},
		"no JSON":                 {"", ErrMalformed},
		"an array":                {"[" + edJWK + "]", ErrMalformed},
		"one key only":            {edJWK, ErrMalformed},
		"no keys":                 {in(), ErrNoUsableKey},
		"only unknown types":      {in(`{"kty":"RSA","n":"x","e":"AQAB"}`), ErrNoUsableKey},
		"duplicate kid":           {in(edJWK, edJWK), ErrDuplicateKey},
		"duplicate member":        {in(strings.Replace(edJWK, "{", `{"kid":"x",`, 1)), ErrDuplicate},
		"wrong kid":               {in(strings.Replace(edJWK, ed.id, ec.id, 1)), ErrKeyID},
		"private":                 {in(strings.Replace(edJWK, "{", `{"d":"x",`, 1)), ErrPrivateKey},
		"alg of the other":        {in(strings.Replace(edJWK, "EdDSA", "ES256", 1)), ErrKeyType},
		"for encryption":          {in(strings.Replace(edJWK, `"sig"`, `"enc"`, 1)), ErrKeyType},
		"short":                   {in(strings.Replace(edJWK, ed.jwk.X, "AAAA", 1)), ErrKeyType},
		"padded":                  {in(strings.Replace(edJWK, ed.jwk.X, ed.jwk.X+"=", 1)), ErrEncoding},
		"not on the curve":        {in(strings.Replace(ecJWK, ec.jwk.Y, ec.jwk.X, 1)), ErrKeyType},
		"no y":                    {in(strings.Replace(ecJWK, `"y"`, `"z"`, 1)), ErrMalformed},
		"no kty":                  {in(`{"x":"x"}`), ErrMalformed},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := ParseKeys([]byte(c.jwks)); !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
		})
	}
	_, err := NewKeySet(edKey('a').Public(), edKey('a').Public())
	require.ErrorIs(t, err, ErrDuplicateKey)
	_, err = NewKeySet([]byte("no key"))
	require.ErrorIs(t, err, ErrKeyType)
	_, err = (&KeySet{}).Verify(must(Sign(leastClaims(), edKey('a'))))
	require.ErrorIs(t, err, ErrUnknownKey)
}

func TestCondemnedKeysAreRefused(t *testing.T) {
	is := is.New(t)
	first, second := edKey('a'), edKey('b')
	keys := set(t, first, second)
	condemned := keys.Condemn(keys.IDs()[0])
	_, err := condemned.Verify(must(Sign(leastClaims(), first)))
	require.ErrorIs(t, err, ErrCondemnedKey)
	_, err = condemned.Verify(must(Sign(leastClaims(), second)))
	is.NoErr(err)
	_, err = keys.Verify(must(Sign(leastClaims(), first))) // the original set is unchanged
	is.NoErr(err)
	_, err = condemned.VerifyRevocations(must(SignRevocations(leastRevocations(), first)))
	require.ErrorIs(t, err, ErrCondemnedKey)
	for _, signer := range []crypto.Signer{first, second} {
		_, err = condemned.Condemn(keys.IDs()[1]).Verify(must(Sign(leastClaims(), signer)))
		require.ErrorIs(t, err, ErrCondemnedKey) // each call adds to the earlier ones
	}
}

// A brokenSigner returns what no key has signed.
type brokenSigner struct {
	crypto.Signer
	signature []byte
	err       error
}

func TestSignRefusesBrokenSigners(t *testing.T) {
	is := is.New(t)
	ec, ed := ecKey(t), edKey('a')
	down := errors.New("the HSM is down")
	for _, signer := range []brokenSigner{
		{ec, nil, down}, {ec, []byte("no ASN.1"), nil}, {ec, nil, nil}, {ed, []byte("short"), nil}, {ed, nil, down},
	} {
		_, err := Sign(leastClaims(), signer)
		is.True(err != nil)
		is.Equal(errors.Is(err, down), signer.err != nil)
	}
}

func (s brokenSigner) Sign(_ io.Reader, _ []byte, _ crypto.SignerOpts) ([]byte, error) {
	return s.signature, s.err
}
