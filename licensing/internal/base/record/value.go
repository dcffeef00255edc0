package record

import (
	"strings"
	"time"
)

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
