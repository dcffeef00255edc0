package licensing_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/internal/testing/translation"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// TestPortalTextsFor: each language has all texts, with the names in braces of the English
// ones. An unknown language has the English texts.
func TestPortalTextsFor(t *testing.T) {
	is := is.New(t)
	english, ok := licensing.PortalTextsFor("en-US")
	is.True(ok)
	is.Equal(english.Title, "Your licenses")
	for lang, same := range map[string][]string{"de": {"LinkCode"}, "fr": {"Date", "LinkCode", "Active"}} {
		texts, ok := licensing.PortalTextsFor(lang)
		is.True(ok)
		is.Equal(texts.Lang, lang)
		is.Equal(len(strings.Fields(texts.Months)), 12)
		translation.Check(t, english, texts, same...)
	}
	german, ok := licensing.PortalTextsFor("DE-at")
	is.True(ok)
	is.Equal(german.Title, "Ihre Lizenzen")
	for _, lang := range []string{"nl", "deu", ""} {
		texts, ok := licensing.PortalTextsFor(lang)
		is.True(!ok)
		is.Equal(texts, english)
	}
}

func TestPortalNeedsTwelveMonths(t *testing.T) {
	defer func() { require.Contains(t, fmt.Sprint(recover()), "Portal.Texts.Months must have twelve names") }()
	licensing.NewHandler(memory.New(), licensing.Options{}).Portal(licensing.Portal{
		Customer: func(http.ResponseWriter, *http.Request) (string, bool) { return "ada", true }, Texts: licensing.PortalTexts{Months: "Januar Februar"},
	})
}
