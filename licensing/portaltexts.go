package licensing

import (
	"reflect"
	"strings"
)

// PortalTextsFor returns the texts of the customers' pages in a language: "en", "de" or "fr",
// of any region, such as "de-AT". In other languages, it returns the English texts and false.
// Package licensing/mail has the same for mails.
func PortalTextsFor(lang string) (t PortalTexts, ok bool) {
	lang, _, _ = strings.Cut(strings.ToLower(lang), "-")
	t, ok = map[string]PortalTexts{"en": {}, "de": germanPortal, "fr": frenchPortal}[lang]
	return t.withDefaults(), ok
}

// withDefaults returns the texts with the English ones in the place of empty ones.
func (t PortalTexts) withDefaults() PortalTexts {
	for field, value := range reflect.ValueOf(&t).Elem().Fields() {
		if value.String() == "" {
			value.SetString(field.Tag.Get("text"))
		}
	}
	return t
}

// byName returns the texts by the names of their fields.
func (t PortalTexts) byName() map[string]string {
	texts := map[string]string{}
	for field, value := range reflect.ValueOf(t).Fields() {
		texts[field.Name] = value.String()
	}
	return texts
}
