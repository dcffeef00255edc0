package licensefile

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/seed-d8a106b4/licensekit/internal/keytext"
)

// A Request asks for a license file for a program that has no network: the
// program prints its text, and an operator or an API client returns a file for
// the fingerprint that has the nonce.
type Request struct {
	Fingerprint string // 1–1,020 bytes of UTF-8
	// KeyHash is the [KeyHash] of the license key that the program has;
	// empty: none. The service compares it with the key of the license that
	// the operator names.
	KeyHash string
	// Nonce identifies the request, and the file that answers it has it; see
	// [Expect]. It is 16 random bytes in base64url.
	Nonce string
}

// ErrRequest is an invalid request text: it is not complete, was altered, or
// is something else.
var ErrRequest = errors.New("licensefile: not a complete request text; copy all of it")

// NewRequest returns a request with a random nonce. The key is the license key
// as typed; empty: none.
func NewRequest(key, fingerprint string) Request {
	nonce := make([]byte, requestPart)
	rand.Read(nonce)
	return Request{Fingerprint: fingerprint, KeyHash: KeyHash(key), Nonce: base64url.EncodeToString(nonce)}
}

// A request text is the prefix and the base32 of: the nonce, the key hash (zero
// bytes: none), the fingerprint, and a checksum of all before it. In upper case
// without padding, a QR code needs few modules for it.
const (
	requestPrefix   = "LICENSE-REQUEST-1-"
	requestPart     = 16 // bytes of the nonce, and of the key hash
	requestChecksum = 4
	maxFingerprint  = 1020 // 255 characters
)

var requestEncoding = base32.StdEncoding.WithPadding(base32.NoPadding)

// Text returns the text of a request, in upper-case letters, digits and dashes:
// at most 400 characters for a fingerprint of up to 128 bytes. It returns
// [ErrMalformed] for a Request that was not made by [NewRequest] or
// [ParseRequest], or with an invalid fingerprint.
func (r Request) Text() (string, error) {
	nonce, err := decode(r.Nonce)
	if err != nil || len(nonce) != requestPart {
		return "", fmt.Errorf("%w: the nonce is not %d bytes in base64url", ErrMalformed, requestPart)
	}
	hash := make([]byte, requestPart)
	if r.KeyHash != "" {
		if hash, err = decode(r.KeyHash); err != nil || len(hash) != requestPart {
			return "", fmt.Errorf("%w: the key hash is not %d bytes in base64url", ErrMalformed, requestPart)
		}
	}
	if !isFingerprint(r.Fingerprint) {
		return "", fmt.Errorf("%w: the fingerprint must be 1–%d bytes of UTF-8", ErrMalformed, maxFingerprint)
	}
	data := append(append(nonce, hash...), r.Fingerprint...)
	return requestPrefix + requestEncoding.EncodeToString(append(data, checksum(data)...)), nil
}

// ParseRequest reads a request text. Lower case is accepted, and what mail programs and
// editors add is ignored, as by [Pasted]. It returns [ErrRequest].
func ParseRequest(text string) (Request, error) {
	text = strings.ToUpper(compact(text))
	encoded, ok := strings.CutPrefix(text, requestPrefix)
	if !ok || len(encoded) > requestEncoding.EncodedLen(2*requestPart+maxFingerprint+requestChecksum) {
		return Request{}, ErrRequest
	}
	data, err := requestEncoding.DecodeString(encoded)
	n := len(data) - requestChecksum
	if err != nil || n <= 2*requestPart || !bytes.Equal(data[n:], checksum(data[:n])) || requestEncoding.EncodeToString(data) != encoded {
		return Request{}, ErrRequest
	}
	r := Request{Nonce: base64url.EncodeToString(data[:requestPart]), Fingerprint: string(data[2*requestPart : n])}
	if hash := data[requestPart : 2*requestPart]; !bytes.Equal(hash, make([]byte, requestPart)) {
		r.KeyHash = base64url.EncodeToString(hash)
	}
	if !isFingerprint(r.Fingerprint) {
		return Request{}, ErrRequest
	}
	return r, nil
}

func isFingerprint(s string) bool {
	return s != "" && len(s) <= maxFingerprint && utf8.ValidString(s)
}

func checksum(data []byte) []byte {
	sum := sha256.Sum256(append([]byte("licensekit-rq\x00"), data...))
	return sum[:requestChecksum]
}

// KeyHash returns the KeyHash of a license key in a request: the first 16 bytes
// of SHA-256 of "licensekit-key", a zero byte and the key, in base64url. The key
// is hashed in upper case without dashes, dots, underscores, and quotation marks,
// brackets and punctuation around it, with 1 for I and L and 0 for O, so it may
// be typed in any form that the service accepts. The hash of an empty key is empty.
func KeyHash(key string) string {
	key = strings.Map(func(c rune) rune {
		if c == '.' || c == '_' || c == '-' {
			return -1
		}
		switch c = unicode.ToUpper(c); c {
		case 'I', 'L':
			return '1'
		case 'O':
			return '0'
		}
		return c
	}, keytext.Bare(key))
	if key == "" {
		return ""
	}
	sum := sha256.Sum256([]byte("licensekit-key\x00" + key))
	return base64url.EncodeToString(sum[:requestPart])
}
