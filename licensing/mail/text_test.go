package mail

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/internal/testing/translation"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

// TestTextsFor: each language has all texts, with the names in braces of the English ones, and
// the mails and pages of a sale and a sign-in show nothing else. An unknown language has the
// English texts.
func TestTextsFor(t *testing.T) {
	is := is.New(t)
	english, ok := TextsFor("EN")
	is.True(ok)
	require.Contains(t, english.KeyText, "Hello {name}")
	unknown, ok := TextsFor("nl")
	is.True(!ok)
	is.Equal(unknown, english)
	for lang, first := range map[string]string{"de": "Guten Tag Ada,", "fr": "Bonjour Ada,"} {
		texts, ok := TextsFor(lang + "-CH")
		is.True(ok)
		is.Equal(texts.Lang, lang)
		translation.Check(t, english, texts, "Signature")

		s := newShop(t)
		s.signIn.Texts = texts
		pages := s.signIn.Handler(s.h, licensing.Portal{})
		l := s.create(license.Caller{}, "Ada", "atlas", "ada", "ada@customer.example")
		keys := Keys{Licenses: func() *license.Service { return s.h.Service() }, Send: s.signIn.Send, Shop: "Vendor", Pages: s.url, Texts: texts}
		page, err := s.h.Service().Events(t.Context(), api.ListEventsParams{Subject: l.ID})
		is.NoErr(err)
		is.NoErr(keys.Subscriber().Handle(t.Context(), page.Data[0]))
		m := <-s.mails
		require.Contains(t, m.Text, first, l.Key, s.url, "\nVendor\n")
		translation.Shown(t, m.Subject+" "+strings.ReplaceAll(m.Text, l.Key, ""))

		visit := func(method, path string, form url.Values, status int) {
			t.Helper()
			r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(form.Encode()))
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			w := httptest.NewRecorder()
			pages.ServeHTTP(w, r)
			is.Equal(w.Code, status)
			require.Contains(t, w.Body.String(), `<html lang="`+lang+`">`)
			translation.Shown(t, w.Body.String())
		}
		visit("GET", "/sign-in", nil, http.StatusOK)
		visit("GET", "/link", nil, http.StatusOK)
		visit("POST", "/link", nil, http.StatusForbidden)
		visit("POST", "/sign-in", url.Values{"email": {"ada@customer.example"}}, http.StatusOK)
		m = <-s.mails
		address, token, _ := strings.Cut(m.Text, "/link#")
		is.True(address != m.Text)
		translation.Shown(t, m.Subject+" "+strings.ReplaceAll(m.Text, strings.Fields(token)[0], ""))
		for range asksPerMinute - 1 {
			visit("POST", "/sign-in", nil, http.StatusOK)
		}
		visit("POST", "/sign-in", nil, http.StatusTooManyRequests)
	}
}
