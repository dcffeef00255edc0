package catalog

import (
	"iter"
	"slices"
	"strings"
	"unicode"
)

const (
	maxWords      = 16 // words of one text
	maxWordLength = 32 // significant characters of a word
	maxPairs      = 64 // pairs of neighboring characters in one search text
)

// runs iterates over the words of a text, lowercased. A word is a run of letters,
// marks and digits. Chinese, Japanese and Korean text, which is not divided into
// words, is a run of its own, with cjk true.
func runs(text string) iter.Seq2[string, bool] {
	return func(yield func(string, bool) bool) {
		for _, field := range strings.FieldsFunc(strings.ToLower(text), isGap) {
			start, cjk := 0, false
			for i, r := range field {
				is := isCJK(r) || cjk && unicode.IsMark(r)
				if i == 0 {
					cjk = is
				} else if is != cjk {
					if !yield(field[start:i], cjk) {
						return
					}
					start, cjk = i, is
				}
			}
			if !yield(field[start:], cjk) {
				return
			}
		}
	}
}

// indexTerms iterates over the terms that find a text. Of a CJK run, these are
// all pairs of neighboring characters, and its last character.
func indexTerms(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		var seen []string
		for run, cjk := range runs(text) {
			if cjk {
				chars := []rune(run)
				for i := range chars {
					if !yield(string(chars[i:min(i+2, len(chars))])) {
						return
					}
				}
				continue
			}
			if run = clip(run, maxWordLength); len(seen) == maxWords || slices.Contains(seen, run) {
				continue
			}
			seen = append(seen, run)
			if !yield(run) {
				return
			}
		}
	}
}

// searchTerms returns what the terms of a license must begin with to match a
// search text: its words, and all pairs of neighboring characters of CJK runs.
func searchTerms(text string) []string {
	var t termSet
	words, pairs := 0, 0
	for run, cjk := range runs(text) {
		if !cjk {
			if run = clip(run, maxWordLength); words < maxWords && !slices.Contains(t.list, run) {
				words++
				t.add(run)
			}
			continue
		}
		chars := []rune(run)
		for i := range max(1, len(chars)-1) {
			if pairs++; pairs <= maxPairs {
				t.add(string(chars[i:min(i+2, len(chars))]))
			}
		}
	}
	return t.list
}

// isCJK reports whether r belongs to a script whose words are not divided by
// spaces in a way that people search by.
func isCJK(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Bopomofo) || r == 'ー' || r == 'ｰ'
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
