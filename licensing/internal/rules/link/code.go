package link

import (
	"crypto/rand"
	"strings"
	"unicode"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
)

// codeLetters are the letters of a code: none looks like another one, and without vowels
// there are no words (RFC 8628, section 6.1).
const (
	codeLetters = "BCDFGHJKLMNPQRSTVWXZ"
	codeLength  = 8
)

// newCode returns a random code. Tests replace it.
var newCode = func() string {
	code := make([]byte, 0, codeLength)
	for len(code) < codeLength {
		var b [1]byte
		rand.Read(b[:])
		if n := int(b[0]); n < 256/len(codeLetters)*len(codeLetters) { // otherwise some letters were more frequent
			code = append(code, codeLetters[n%len(codeLetters)])
		}
	}
	return string(code)
}

// shownCode returns a code as customers see it.
func shownCode(code string) string { return code[:codeLength/2] + "-" + code[codeLength/2:] }

// parseCode returns the code that a customer typed; false: it cannot be one.
func parseCode(typed string) (code string, ok bool) {
	if len(typed) > 64 {
		return "", false
	}
	code = strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || unicode.Is(unicode.Pd, r) {
			return -1
		}
		return unicode.ToUpper(r)
	}, typed)
	return code, len(code) == codeLength && strings.Trim(code, codeLetters) == ""
}

// codeKey returns the key of the entry of a code.
func codeKey(code string) string { return call.Digest("link code\x00" + code) }

// linkKey returns the key of the entry of a secret.
func linkKey(secret string) string { return call.Digest("link secret\x00" + secret) }
