package license

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// isText reports whether s is valid UTF-8 without control characters (C0,
// C1, DEL) and noncharacters, so that every store can hold it and every
// screen can show it.
func isText(s string) bool {
	for i := 0; i < len(s); {
		if c := s[i]; c < utf8.RuneSelf {
			if c < ' ' || c == 0x7f {
				return false
			}
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size == 1 || r <= 0x9f || isNoncharacter(r) {
			return false
		}
		i += size
	}
	return true
}

func isNoncharacter(r rune) bool { return r >= 0xfdd0 && r <= 0xfdef || r&0xfffe == 0xfffe }

// isTrimmed reports whether s neither begins nor ends with white space.
func isTrimmed(s string) bool { return strings.TrimSpace(s) == s }

const (
	maxTerms      = 16 // searchable words of one text
	maxTermLength = 32 // significant characters of a word
)

// terms returns the words of the texts, lowercased, without duplicates.
// Searches match licenses by these words. Each text adds at most maxTerms,
// so that a long text leaves room for the others. A word is a run of
// letters, marks and digits.
func terms(texts ...string) []string {
	var out []string
	seen := make(map[string]bool)
	for _, text := range texts {
		added := 0
		for _, word := range strings.FieldsFunc(strings.ToLower(text), isGap) {
			if word = clip(word, maxTermLength); seen[word] {
				continue
			}
			if added == maxTerms {
				break
			}
			added++
			seen[word] = true
			out = append(out, word)
		}
	}
	return out
}

func isGap(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) }

// clip returns the first n characters of s.
func clip(s string, n int) string {
	for i := range s {
		if n--; n < 0 {
			return s[:i]
		}
	}
	return s
}
