package call

import (
	"strings"
	"unicode/utf8"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
	"github.com/seed-d8a106b4/licensekit/store"
	"golang.org/x/text/unicode/norm"
)

// letters replaces letters that have no decomposition by the ones that people type.
var letters = strings.NewReplacer("ß", "ss", "ø", "o", "ł", "l", "đ", "d", "æ", "ae", "œ", "oe", "ı", "i", "ς", "σ")

// Fold returns a text in the form in which texts are compared: without case,
// accents and differences of form, so that "sohne" finds "Söhne". Licenses store
// what it returns, so a change of it comes with a step that writes them again.
func Fold(s string) string {
	ascii := true
	for i := range len(s) {
		ascii = ascii && s[i] < utf8.RuneSelf
	}
	if ascii {
		return strings.ToLower(s)
	}
	s = strings.Map(func(r rune) rune {
		if '\u0300' <= r && r <= '\u036f' {
			return -1
		}
		return r
	}, norm.NFKD.String(s))
	return letters.Replace(strings.ToLower(norm.NFC.String(s)))
}

// SearchWords returns the words of a search text, folded and without duplicates.
func SearchWords(text string) (words []string) {
	seen := map[string]bool{}
	for _, word := range strings.Fields(Fold(text)) {
		if !seen[word] {
			seen[word], words = true, append(words, word)
		}
	}
	return words
}

// ContainsAll reports whether a folded text contains all words.
func ContainsAll(text string, words []string) bool {
	for _, word := range words {
		if !strings.Contains(text, word) {
			return false
		}
	}
	return true
}

// TextOf returns the Text of a license: its name, customer, product, plan, reference
// and metadata values in order of their names, folded and one a line, up to [store.MaxText]
// bytes. A word of a search has no line break, so it matches within one line. Keys
// are not in it: a search must not reveal them to callers who see masked keys.
func TextOf(rec record.License, metadata map[string]string) string {
	var b strings.Builder
	add := func(s string) bool {
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(Fold(s))
		return b.Len() < store.MaxText
	}
	ok := add(rec.Name) && add(rec.CustomerID) && add(rec.ProductID)
	for _, id := range []string{rec.PlanID, rec.Reference} {
		ok = ok && (id == "" || add(id))
	}
	if ok {
		for _, name := range Names(metadata) {
			if !add(metadata[name]) {
				break
			}
		}
	}
	text := b.String()
	if len(text) <= store.MaxText {
		return text
	}
	end := store.MaxText
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}
