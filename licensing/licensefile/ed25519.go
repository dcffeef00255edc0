package licensefile

import (
	"crypto/ed25519"
	"math/big"
	"slices"
)

// The prime of the field of Ed25519, and the constant d of its curve
// -x² + y² = 1 + d·x²·y² (RFC 8032 section 5.1).
var (
	edPrime = new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 255), big.NewInt(19))
	edD     = new(big.Int).Mod(new(big.Int).Mul(big.NewInt(-121665), new(big.Int).ModInverse(big.NewInt(121666), edPrime)), edPrime)
)

// isStrong reports whether a key of 32 bytes is a point on the curve, in its only
// encoding, and not one of the eight points whose order divides 8: with such a
// key, forged signatures verify.
//
// The coordinate y decides it. x² = (y²-1)/(dy²+1) must be a square other than 0,
// which leaves out the orders 1 and 2. The points of order 4 have y = 0. Those of
// order 8 are the ones whose double has y = 0, which the doubling formula turns
// into dy⁴ + 2y² = 1.
func isStrong(k ed25519.PublicKey) bool {
	encoded := slices.Clone(k)
	encoded[31] &= 0x7f // the sign of x
	slices.Reverse(encoded)
	y := new(big.Int).SetBytes(encoded)
	if y.Cmp(edPrime) >= 0 || y.Sign() == 0 {
		return false
	}
	one := big.NewInt(1)
	yy := new(big.Int).Mul(y, y)
	yy.Mod(yy, edPrime)
	dyy := new(big.Int).Mul(edD, yy)
	above, below := new(big.Int).Sub(yy, one), new(big.Int).Add(dyy, one)
	// A quotient is a square if the product is.
	if big.Jacobi(above.Mul(above, below).Mod(above, edPrime), edPrime) != 1 {
		return false
	}
	eight := dyy.Add(dyy, big.NewInt(2))
	eight.Mul(eight, yy).Sub(eight, one).Mod(eight, edPrime)
	return eight.Sign() != 0
}
