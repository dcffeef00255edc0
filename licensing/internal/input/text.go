package input

import (
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"
)

// Storable reports whether all names and values are text that every store can
// hold: valid UTF-8 without NUL.
func Storable(values url.Values) bool {
	for name, list := range values {
		if !storable(name) || slices.ContainsFunc(list, func(s string) bool { return !storable(s) }) {
			return false
		}
	}
	return true
}

func storable(s string) bool { return utf8.ValidString(s) && !strings.Contains(s, "\x00") }
