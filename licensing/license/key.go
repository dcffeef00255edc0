package license

import "github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"

// NewKey returns a new license key: five groups of five Crockford base32
// characters, such as "8X2KQ-…", with 120 random bits and a check character
// at the end.
func NewKey() string { return call.NewKey() }

// ParseKey parses a generated key as people type it: in any case, with I and
// L for 1 and O for 0, and with any spaces, dashes, dots or underscores
// between the characters. It returns the key in the form of [NewKey]. It
// returns false if the check character does not match; that catches any
// single wrong character and any two swapped characters.
func ParseKey(s string) (key string, ok bool) { return call.ParseKey(s) }
