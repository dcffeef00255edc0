package licensing

import (
	"reflect"

	"github.com/seed-d8a106b4/licensekit/internal/texts"
)

// PortalTextsFor returns the texts of the customers' pages in a language: "en", "de" or "fr",
// of any region, such as "de-AT". In other languages, it returns the English texts and false.
// Package licensing/mail has the same for mails.
func PortalTextsFor(lang string) (t PortalTexts, ok bool) {
	return texts.For(lang, map[string]PortalTexts{"en": {}, "de": germanPortal, "fr": frenchPortal})
}

// byName returns the texts by the names of their fields.
func (t PortalTexts) byName() map[string]string {
	all := map[string]string{}
	for field, value := range reflect.ValueOf(t).Fields() {
		all[field.Name] = value.String()
	}
	return all
}
