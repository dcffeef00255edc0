// Package translation checks texts in another language than English, and pages that show them.
package translation

import (
	"html"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	names   = regexp.MustCompile(`\{\w+\}`)
	hidden  = regexp.MustCompile(`(?s)<(script|style)>.*?</(script|style)>|<[^>]*>`)
	labels  = regexp.MustCompile(`(?:aria-label|data-copied)="([^"]*)"`)
	english = regexp.MustCompile(`(?i)\b(the|of|and|until|for|your|not|with|you|this|is|are|used|no|license|licenses|device|key|added|` +
		`January|February|March|May|June|July|October|December)\b`)
)

// Check reports each text of a struct of texts that is not translated or has other names in
// braces than the English one. The texts of the fields in same are as in English.
func Check(t *testing.T, english, translated any, same ...string) {
	t.Helper()
	for field, value := range reflect.ValueOf(translated).Fields() {
		original := reflect.ValueOf(english).FieldByName(field.Name).String()
		text := value.String()
		if original != "" && (text == original) != slices.Contains(same, field.Name) {
			t.Errorf("%s is %q, and the English text %q", field.Name, text, original)
		}
		found, want := names.FindAllString(text, -1), names.FindAllString(original, -1)
		slices.Sort(found)
		slices.Sort(want)
		if !slices.Equal(slices.Compact(found), slices.Compact(want)) {
			t.Errorf("%s has the names %v, and the English text %v", field.Name, found, want)
		}
		if field.Name != "Date" && field.Name != "DateFirst" { // layouts of package time
			inEnglish(t, names.ReplaceAllString(text, ""))
		}
	}
}

// Shown reports English words in what a reader sees or hears of a page or a mail, and a name in
// braces without a value. What the caller put there has neither.
func Shown(t *testing.T, page string) {
	t.Helper()
	if name := names.FindString(shown(page)); name != "" {
		t.Errorf("%s has no value in %q", name, shown(page))
	}
	inEnglish(t, page)
}

func inEnglish(t *testing.T, page string) {
	t.Helper()
	if word := english.FindString(shown(page)); word != "" {
		t.Errorf("the English word %q is in %q", word, shown(page))
	}
}

func shown(page string) string {
	text := hidden.ReplaceAllString(page, " ")
	for _, label := range labels.FindAllStringSubmatch(page, -1) {
		text += " " + label[1]
	}
	return strings.Join(strings.Fields(html.UnescapeString(text)), " ")
}
