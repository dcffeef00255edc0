package valid

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// IsText reports whether s is valid UTF-8 without control characters (C0,
// C1, DEL) and noncharacters, so that every store can hold it and every
// screen can show it.
func IsText(s string) bool {
	for _, r := range s {
		if unicode.IsControl(r) || isNoncharacter(r) {
			return false
		}
	}
	return utf8.ValidString(s)
}

func isNoncharacter(r rune) bool { return r >= 0xfdd0 && r <= 0xfdef || r&0xfffe == 0xfffe }

// IsTrimmed reports whether s neither begins nor ends with white space.
func IsTrimmed(s string) bool { return strings.TrimSpace(s) == s }

// IsInstant reports whether RFC 3339 and every store can represent t.
func IsInstant(t time.Time) bool {
	year := t.UTC().Year()
	return year >= 1970 && year <= 9999
}
