package licensefile

import (
	"crypto"
	"fmt"
	"strings"
)

// OfficeRequestType is the typ in the header of the request of an office.
const OfficeRequestType = "license-office-request+jwt"

// maxOfficeRequest is the maximum size of the request of an office, in bytes.
const maxOfficeRequest = 4 << 10

// An OfficeRequest asks for the license file of an office. An administrator takes its
// text to the vendor. The same text asks for each renewal, because only the office
// can use the answer.
type OfficeRequest struct {
	Key     crypto.PublicKey // jwk: of the office
	Seats   int64            // seats: how many it asks for, from 1 on
	KeyHash string           // key_hash: as in [Request]; required with Meters
	// Meters (meters) is how much the office has counted so far, since it has its key,
	// by the name of the meter. The vendor counts what it did not know of.
	Meters map[string]int64
}

type wireOfficeRequest struct {
	Key     jwk              `json:"jwk"`
	Seats   int64            `json:"seats"`
	KeyHash string           `json:"key_hash,omitempty"`
	Meters  map[string]int64 `json:"meters,omitempty"`
}

// SignOfficeRequest returns the text of a request, signed with the key of the office,
// which replaces r.Key. It returns [ErrMalformed] for what [ParseOfficeRequest] would
// refuse, [ErrTooLarge] for a text of more than 4 KiB, and otherwise the errors of
// [Sign].
func SignOfficeRequest(r OfficeRequest, signer crypto.Signer) (string, error) {
	r.Key = signer.Public()
	office, err := (&Office{Key: r.Key, Seats: r.Seats}).wire()
	if err == nil {
		err = r.check()
	}
	if err != nil {
		return "", err
	}
	payload, err := encode(wireOfficeRequest{office.Key, r.Seats, r.KeyHash, r.Meters})
	if err != nil {
		return "", err
	}
	text, err := sign(OfficeRequestType, payload, signer, "")
	if err == nil && len(text) > maxOfficeRequest {
		return "", fmt.Errorf("%w of %d bytes; the request has too many meters", ErrTooLarge, maxOfficeRequest)
	}
	return text, err
}

// check checks the totals. Without the hash of a key, they might be counted for another
// license than that of the office.
func (r OfficeRequest) check() error {
	for name, total := range r.Meters {
		if name == "" || total < 0 || total > maxNumber {
			return fmt.Errorf("%w: the total of the meter %.64q is out of range", ErrMalformed, name)
		}
	}
	if len(r.Meters) > 0 && r.KeyHash == "" {
		return fmt.Errorf("%w: meters without key_hash", ErrMalformed)
	}
	return nil
}

// IsOfficeRequest reports whether a text looks like the request of an office, and not
// like that of a program. Call [ParseOfficeRequest] next.
func IsOfficeRequest(text string) bool {
	return strings.HasPrefix(compact(text), "eyJ") // the beginning of a JSON object in base64url
}

// ParseOfficeRequest reads the text of a request, and verifies that the holder of the
// key in it has signed it. What mail programs and editors add is ignored, as by [Pasted]. It
// returns [ErrRequest].
func ParseOfficeRequest(text string) (OfficeRequest, error) {
	r, err := parseOfficeRequest(compact(text))
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
	r := OfficeRequest{Key: m.jwk(), Seats: m.number("seats", true, 1), KeyHash: m.text("key_hash", false)}
	m.read("meters", false, &r.Meters)
	if m.err == nil {
		m.err = r.check()
	}
	if m.err != nil {
		return OfficeRequest{}, m.err
	}
	keys, err := NewKeySet(r.Key)
	if err == nil {
		_, _, err = keys.open(OfficeRequestType, text, maxOfficeRequest)
	}
	return r, err
}
