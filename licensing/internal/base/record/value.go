package record

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"
)

// Encode returns v as JSON, byte for byte as the API sends it: without HTML
// escaping. Encoding v must not be able to fail.
func Encode(v any) []byte {
	var document bytes.Buffer
	e := json.NewEncoder(&document)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err)
	}
	return bytes.TrimSuffix(document.Bytes(), []byte("\n"))
}

// AppendText appends s as Encode encodes it.
func AppendText(b []byte, s string) []byte {
	for _, c := range []byte(s) {
		if c < ' ' || c > '~' || c == '"' || c == '\\' {
			return append(b, Encode(s)...)
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}

// OptionalTime returns the time for a field that is nil if there is none.
func OptionalTime(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return new(t)
}

// Set sets a field to *v, unless v is nil.
func Set[T any](field *T, v *T) {
	if v != nil {
		*field = *v
	}
}

// IDDigits are the digits of IDs, as of [store.NewID].
const IDDigits = "0123456789abcdefghjkmnpqrstvwxyz"

// IsID reports whether s is a well-formed ID with the given prefix.
func IsID(prefix, s string) bool {
	digits, ok := strings.CutPrefix(s, prefix+"_")
	return ok && len(digits) == 26 && strings.Trim(digits, IDDigits) == ""
}
