package input

import (
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"
)

// Storable reports whether every store can hold all names and values: they must
// be valid UTF-8 without NUL.
func Storable(values url.Values) bool {
	for name, list := range values {
		if !storable(name) || slices.ContainsFunc(list, func(s string) bool { return !storable(s) }) {
			return false
		}
	}
	return true
}

func storable(s string) bool { return utf8.ValidString(s) && !strings.Contains(s, "\x00") }
