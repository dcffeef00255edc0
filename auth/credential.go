package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"hash/crc32"
)

// The prefixes of credentials. All have the same length.
const (
	clientPrefix = "cid_"
	secretPrefix = "csk_"
	tokenPrefix  = "lat_"
)

const (
	prefixLen     = 4
	randomLen     = 43 // 62^43 is just above 2^256
	checksumLen   = 6  // 62^6 is just above 2^32
	credentialLen = prefixLen + randomLen + checksumLen
)

const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// newCredential returns a new client ID, secret or token: the prefix, random
// characters and a checksum of both.
func newCredential(prefix string) string { return newCredentialFrom(prefix) }

// newCredentialFrom returns a new credential that begins with start: a prefix, and
// random characters that it has in common with other credentials.
func newCredentialFrom(start string) string {
	b := appendRandom(append(make([]byte, 0, credentialLen), start...), prefixLen+randomLen)
	sum := checksum(b)
	return string(append(b, sum[:]...))
}

// appendRandom appends random letters and digits to b until it has the length n.
func appendRandom(b []byte, n int) []byte {
	var buf [64]byte
	for len(b) < n {
		rand.Read(buf[:])
		for _, c := range buf {
			// 248 is the largest multiple of 62 in a byte: taking more
			// would favor some characters.
			if c < 248 && len(b) < n {
				b = append(b, base62[c%62])
			}
		}
	}
	return b
}

// wellFormed reports whether newCredential(prefix) could have returned s.
func wellFormed(prefix, s string) bool {
	if len(s) != credentialLen || s[:prefixLen] != prefix {
		return false
	}
	for i := prefixLen; i < len(s); i++ {
		c := s[i]
		if (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
			return false
		}
	}
	sum := checksum([]byte(s[:prefixLen+randomLen]))
	return s[prefixLen+randomLen:] == string(sum[:])
}

// checksum returns the CRC-32 (IEEE) of b as six digits in base 62.
func checksum(b []byte) (out [checksumLen]byte) {
	sum := crc32.ChecksumIEEE(b)
	for i := len(out) - 1; i >= 0; i-- {
		out[i] = base62[sum%62]
		sum /= 62
	}
	return out
}

// digest returns the stored form of a secret or a token: its SHA-256 in hex.
func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}
