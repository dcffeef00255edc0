package call

import (
	"cmp"
	"crypto/rand"
	"slices"
	"strings"
	"unicode"

	"github.com/seed-d8a106b4/licensekit/internal/keytext"
)

// keyAlphabet is Crockford's base32: no I, L, O or U.
const keyAlphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

const (
	keyDigits = 25 // 24 random digits of five bits, and a check digit
	keyGroup  = 5

	minKeyLength = 16 // of a key from another system
	maxKeyLength = 1024
	maxTyped     = 4 * maxKeyLength // bytes of a text that is read as a key
)

// NewKey returns a new license key: five groups of five Crockford base32
// characters, such as "8X2KQ-…", with 120 random bits and a check character
// at the end.
func NewKey() string {
	var random [keyDigits - 1]byte
	rand.Read(random[:])
	digits := make([]byte, 0, keyDigits)
	for _, b := range random {
		digits = append(digits, b&31)
	}
	return formatKey(append(digits, keyCheck(digits)))
}

// ParseKey parses a generated key as people type it; see package license.
func ParseKey(s string) (key string, ok bool) {
	if len(s) > maxKeyLength {
		return "", false
	}
	s = keytext.Bare(s)
	digits := make([]byte, 0, keyDigits)
	for _, r := range s {
		d := keyDigit(r)
		if d < 0 && isKeySeparator(r) {
			continue
		}
		if d < 0 || len(digits) == keyDigits {
			return "", false
		}
		digits = append(digits, byte(d))
	}
	if len(digits) != keyDigits || keyCheck(digits[:keyDigits-1]) != digits[keyDigits-1] {
		return "", false
	}
	return formatKey(digits), true
}

// CanonicalKey returns the form in which keys are stored and are unique: generated keys in
// the form of NewKey, others without what no key has.
func CanonicalKey(s string) string {
	if key, ok := ParseKey(s); ok {
		return key
	}
	if len(s) > maxTyped {
		return s
	}
	return keytext.Visible(s)
}

// OtherKeys returns the keys that a typed text can also mean if no license has its
// CanonicalKey, in the order in which they are looked up: of another system's key, the text
// without what surrounds it, and that in upper and in lower case.
func OtherKeys(typed string) (keys []string) {
	exact := CanonicalKey(typed)
	if _, own := ParseKey(typed); own || len(typed) > maxTyped {
		return nil
	}
	bare := keytext.Bare(typed)
	for _, key := range []string{bare, strings.ToUpper(bare), strings.ToLower(bare)} {
		if IsKey(key) && key != exact && !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return keys
}

// KeyParts returns what a part of a key can be as people type it: a part of a
// generated key and, if that differs, the text itself.
func KeyParts(s string) []string {
	part := make([]byte, 0, len(s))
	text := cmp.Or(keytext.Visible(s), s) // never empty, which would select every key
	for _, r := range s {
		if d := keyDigit(keytext.ASCII(r)); d >= 0 {
			part = append(part, keyAlphabet[d])
		} else if isKeySeparator(r) {
			part = append(part, '-')
		} else if keytext.ASCII(r) >= 0 {
			return []string{text}
		}
	}
	if string(part) == s {
		return []string{s}
	}
	return []string{cmp.Or(string(part), text), text}
}

// IsKey reports whether s is a valid license key.
func IsKey(s string) bool {
	if len(s) < minKeyLength || len(s) > maxKeyLength {
		return false
	}
	for i := range len(s) {
		if s[i] <= ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// keyCheck returns the check digit: the one that makes the polynomial with
// the digits as coefficients, check digit last, zero at a generator of
// GF(32). Every position has a different weight, so any single wrong digit
// and any two swapped digits are detected.
func keyCheck(digits []byte) byte {
	var sum byte
	for _, d := range digits {
		sum = (sum ^ d) << 1
		if sum >= 32 {
			sum ^= 0b100101 // x⁵+x²+1
		}
	}
	return sum
}

func formatKey(digits []byte) string {
	text := make([]byte, 0, keyDigits+keyDigits/keyGroup)
	for i, d := range digits {
		if i > 0 && i%keyGroup == 0 {
			text = append(text, '-')
		}
		text = append(text, keyAlphabet[d])
	}
	return string(text)
}

// keyDigit returns the value of one character, or a negative number.
func keyDigit(r rune) int {
	switch r = unicode.ToUpper(r); r {
	case 'I', 'L':
		return 1
	case 'O':
		return 0
	}
	return strings.IndexRune(keyAlphabet, r)
}

func isKeySeparator(r rune) bool {
	return r == '.' || r == '_' || unicode.IsSpace(r) || unicode.Is(unicode.Pd, r)
}
