// Package bidi shows the bidirectional controls in texts that strangers choose, such as the
// name of a device, so that they do not reorder what stands beside them on a page or in a mail.
package bidi

import (
	"bytes"
	"regexp"
	"strings"
	"unicode"
)

// Visible returns a text with U+FFFD in the place of each control that embeds, overrides or
// isolates, and without marks of direction.
func Visible(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case !unicode.Is(unicode.Bidi_Control, r):
			return r
		case r == '\u061c' || r == '\u200e' || r == '\u200f': // the marks, which names may need
			return -1
		}
		return unicode.ReplacementChar
	}, text)
}

// sentBack matches what a form sends back, which must stay as stored. In the texts of a
// page made by html/template, a quotation mark is an entity, so they do not match.
var sentBack = regexp.MustCompile(`(?s) value="[^"]*"|<textarea.*?</textarea>`)

// Page returns a page made by html/template with Visible applied to all but the values of
// its forms.
func Page(page []byte) []byte {
	if !bytes.ContainsFunc(page, func(r rune) bool { return unicode.Is(unicode.Bidi_Control, r) }) {
		return page
	}
	var b bytes.Buffer
	end := 0
	for _, kept := range sentBack.FindAllIndex(page, -1) {
		b.WriteString(Visible(string(page[end:kept[0]])))
		b.Write(page[kept[0]:kept[1]])
		end = kept[1]
	}
	b.WriteString(Visible(string(page[end:])))
	return b.Bytes()
}
