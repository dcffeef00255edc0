package licensefile

import (
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"math/big"
	"slices"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
)

// lowOrder are the encodings of the points whose order divides 8, as the tables of
// other libraries list them; the last four are not canonical.
var lowOrder = []string{
	"0100000000000000000000000000000000000000000000000000000000000000",
	"ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
	"0000000000000000000000000000000000000000000000000000000000000000",
	"0000000000000000000000000000000000000000000000000000000000000080",
	"26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
	"26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
	"c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
	"c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
	"0100000000000000000000000000000000000000000000000000000000000080",
	"ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
	"eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
	"edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
}

// TestWeakKeys: no set has a key for which signatures can be made up, or that is
// no key at all.
func TestWeakKeys(t *testing.T) {
	refused := map[string]ed25519.PublicKey{}
	for _, encoded := range lowOrder {
		refused["low order "+encoded] = must(hex.DecodeString(encoded))
	}
	for y := byte(2); len(refused) < len(lowOrder)+4; y++ {
		k := make(ed25519.PublicKey, 32)
		k[0] = y
		if !onCurve(k) {
			refused["off the curve "+string('0'+rune(y))] = k
		}
	}
	largest := slices.Repeat([]byte{0xff}, 32)
	refused["not canonical"] = largest
	for name, k := range refused {
		t.Run(name, func(t *testing.T) {
			jwks := must(json.Marshal(map[string]any{"keys": []any{map[string]string{"kty": "OKP", "crv": "Ed25519", "x": base64url.EncodeToString(k)}}}))
			_, err := ParseKeys(jwks)
			require.ErrorIs(t, err, ErrKeyType)
			_, err = NewKeySet(k)
			require.ErrorIs(t, err, ErrKeyType)
			_, err = KeyID(k)
			require.ErrorIs(t, err, ErrKeyType)
		})
	}
	for range 200 {
		public, _, err := ed25519.GenerateKey(nil)
		is.New(t).NoErr(err)
		is.New(t).True(isStrong(public))
	}
}

// onCurve reports whether a key is a point, with the square root itself.
func onCurve(k ed25519.PublicKey) bool {
	encoded := slices.Clone(k)
	encoded[31] &= 0x7f
	slices.Reverse(encoded)
	yy := new(big.Int).SetBytes(encoded)
	yy.Mul(yy, yy)
	above := new(big.Int).Sub(yy, big.NewInt(1))
	below := new(big.Int).Add(new(big.Int).Mul(edD, yy), big.NewInt(1))
	below.ModInverse(below, edPrime)
	return new(big.Int).ModSqrt(above.Mul(above, below).Mod(above, edPrime), edPrime) != nil
}
