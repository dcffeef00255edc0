package licensefile

import (
	"crypto"
	"fmt"
	"strings"
	"unicode"
)

// OfficeRequestType is the typ in the header of the request of an office.
const OfficeRequestType = "license-office-request+jwt"

// maxOfficeRequest is the maximum size of the request of an office, in bytes.
const maxOfficeRequest = 4 << 10

// An OfficeRequest asks for the license file of an office. An administrator takes its
// text to the vendor. The same text asks for each renewal, because only the office
// can use the answer.
type OfficeRequest struct {
	Office         // the public key of the office, and how many seats it asks for
	KeyHash string // as in [Request]
}

type wireOfficeRequest struct {
	wireOffice
	KeyHash string `json:"key_hash,omitempty"`
}

// SignOfficeRequest returns the text of a request, signed with the key of the office.
// The key is the license key as typed; empty: none. It returns [ErrMalformed] for less
// than one seat, and otherwise the errors of [Sign].
func SignOfficeRequest(key string, seats int64, signer crypto.Signer) (string, error) {
	office, err := (&Office{signer.Public(), seats}).wire()
	if err != nil {
		return "", err
	}
	payload, err := encode(wireOfficeRequest{*office, KeyHash(key)})
	if err != nil {
		return "", err
	}
	return sign(OfficeRequestType, payload, signer, "")
}

// IsOfficeRequest reports whether a text looks like the request of an office, and not
// like that of a program. Call [ParseOfficeRequest] next.
func IsOfficeRequest(text string) bool {
	return strings.HasPrefix(strings.TrimSpace(text), "eyJ") // the beginning of a JSON object in base64url
}

// ParseOfficeRequest reads the text of a request, and verifies that the holder of the
// key in it has signed it. White space and line breaks anywhere in it are ignored. It
// returns [ErrRequest].
func ParseOfficeRequest(text string) (OfficeRequest, error) {
	text = strings.Map(func(c rune) rune {
		if unicode.IsSpace(c) {
			return -1
		}
		return c
	}, text)
	r, err := parseOfficeRequest(text)
	if err != nil {
		return OfficeRequest{}, fmt.Errorf("%w: %w", ErrRequest, err)
	}
	return r, nil
}

func parseOfficeRequest(text string) (OfficeRequest, error) {
	parts := strings.Split(text, ".")
	if len(text) > maxOfficeRequest || len(parts) != 3 {
		return OfficeRequest{}, ErrMalformed
	}
	payload, err := decode(parts[1])
	if err != nil {
		return OfficeRequest{}, err
	}
	all, err := object(payload)
	m := members{from: all, err: err}
	r := OfficeRequest{Office{m.jwk(), m.number("seats", true, 1)}, m.text("key_hash", false)}
	if m.err != nil {
		return OfficeRequest{}, m.err
	}
	keys, err := NewKeySet(r.Key)
	if err == nil {
		_, _, err = keys.open(OfficeRequestType, text, maxOfficeRequest)
	}
	return r, err
}
