// Package keytext reads license keys that mail, chat, web pages, spreadsheets and keyboards
// have changed.
package keytext

import (
	"strings"
	"unicode"
)

const (
	// around are what sentences, mail, code and tables put around a key, and before are what
	// lists and formulas put only before one.
	around = "\"'`<>()[]{},;:.!?*|~"
	before = around + "-=#"

	dashes = "−˗⁃⁻₋➖─━ーｰ" // that Unicode does not count as dashes
	quotes = "❛❜❝❞"       // that Unicode does not count as punctuation
)

// Visible returns a typed key without white space, invisible characters, other punctuation
// than that of ASCII, and the > of a quoted reply after a line break; dashes and full-width
// characters become those of ASCII. Keys have visible ASCII only, so no two become the same.
func Visible(s string) string {
	if isVisible(s) {
		return s // as most are
	}
	begins := false // a line after the first
	return strings.Map(func(r rune) rune {
		out := ASCII(r)
		switch {
		case r == '\n' || r == '\r':
			begins = true
		case begins && out == '>':
			return -1
		case out >= 0:
			begins = false
		}
		return out
	}, s)
}

func isVisible(s string) bool {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// ASCII returns the character that is meant by one of a typed key, and a negative number for
// one that belongs to no key.
func ASCII(r rune) rune {
	switch {
	case r > ' ' && r <= '~':
		return r
	case 0xff01 <= r && r <= 0xff5e: // full width
		return r - 0xff01 + '!'
	case unicode.Is(unicode.Pd, r), strings.ContainsRune(dashes, r):
		return '-'
	case unicode.IsSpace(r), strings.ContainsRune(quotes, r),
		unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector, unicode.P, unicode.Sk):
		return -1
	}
	return r
}

// Bare returns Visible(s) without what surrounds a key.
func Bare(s string) string {
	return strings.TrimRight(strings.TrimLeft(Visible(s), before), around)
}
