package license

import (
	"strings"
	"unicode"
)

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
