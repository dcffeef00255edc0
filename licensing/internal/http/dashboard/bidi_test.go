package dashboard_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"unicode"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard"
)

// TestBidirectionalControls: a name, a fingerprint or an ID cannot reorder the words beside it on
// a page, and a form sends it back as it is stored.
func TestBidirectionalControls(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	const name, device = "Atlas \u202egnp", "desk\u2067 \u202efdp.\u200f"
	l := s.license(api.CreateLicenseParams{Name: name, CustomerID: "cus\u2066_1", Metadata: map[string]string{"note": name}})
	_, err := s.Service().Activate(t.Context(), api.ActivateKeyParams{Key: l.Key, Fingerprint: device, Name: device})
	is.NoErr(err)
	_, err = s.Service().Validate(t.Context(), api.ValidateKeyParams{Key: l.Key, Fingerprint: "x" + device}) // a refusal
	is.NoErr(err)
	v := s.admin()
	shown := 0
	at := func(path string) string { return strings.ReplaceAll(path, "{id}", l.ID) }
	pages := []string{"customer?id=" + url.QueryEscape(l.CustomerID), "search?q=Atlas", "licenses?q=Atlas", "customer/devices?id=" + url.QueryEscape(l.CustomerID), "devices?fingerprint=desk"}
	for _, route := range dashboard.Routes() {
		if route.Method == http.MethodGet {
			pages = append(pages, at(route.Path))
		}
	}
	for _, page := range pages {
		a := v.get(page)
		if !strings.HasPrefix(a.Header.Get("Content-Type"), "text/html") {
			continue
		}
		var texts strings.Builder // the page without the values of its forms
		for i, part := range strings.Split(a.body, ` value="`) {
			if _, after, ok := strings.Cut(part, `"`); ok && i > 0 {
				part = after
			}
			texts.WriteString(part)
		}
		if before, after, ok := strings.Cut(texts.String(), "<textarea"); ok { // of the metadata
			_, after, _ = strings.Cut(after, "</textarea>")
			texts.Reset()
			texts.WriteString(before + after)
		}
		if i := strings.IndexFunc(texts.String(), func(r rune) bool { return unicode.Is(unicode.Bidi_Control, r) }); i >= 0 {
			t.Errorf("%s: a control in …%q", page, texts.String()[max(0, i-60):min(texts.Len(), i+20)])
		}
		shown += strings.Count(texts.String(), "\ufffd")
	}
	require.AtLeast(t, shown, 20)
	require.Contains(t, v.get(at("licenses/{id}/edit")).body, `value="`+name+`"`)
}
