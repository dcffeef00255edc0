package servicetest

import (
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/internal/testing/translation"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// TestPortalInEachLanguage: pages have no English words, and the names of months and the layout
// of the first day of a month are those of the language.
func TestPortalInEachLanguage(t *testing.T) {
	for lang, want := range map[string][]string{
		"de": {"Gültig bis 1. März 2031", "Gültig ab 3. Oktober 2027", "1 von 2 belegt", "Abgelaufen am 1. August 2026"},
		"fr": {"Valable jusqu’au 1er mars 2031", "Valable à partir du 3 octobre 2027", "1 sur 2", "Expirée le 1er août 2026"},
	} {
		t.Run(lang, func(t *testing.T) {
			is := is.New(t)
			texts, ok := licensing.PortalTextsFor(lang)
			is.True(ok)
			host := newLinkHost(t, licensing.Options{ClaimFrom: []string{"batch:"}}, licensing.Portal{
				Texts: texts, SignOut: "out", Buy: func(string) string { return "https://shop.example" }, Renew: func(api.License) string { return "https://shop.example" },
			})
			ctx, s := t.Context(), host.Handler.Service()
			host.Clock.Advance(time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC).Sub(host.Clock.Now()))
			add := func(p api.CreateLicenseParams) api.License {
				p.ProductID, p.CustomerID, p.MaxActivations = "atlas", "cus_ada", new(int64(2))
				l, err := s.Create(ctx, p)
				is.NoErr(err)
				if p.StartsAt == nil {
					_, err = s.Activate(ctx, api.ActivateKeyParams{Key: l.Key, Fingerprint: "pc-" + p.Name})
					is.NoErr(err)
				}
				return l
			}
			day := func(y int, m time.Month, d int) *time.Time { return new(time.Date(y, m, d, 0, 0, 0, 0, time.UTC)) }
			ended := add(api.CreateLicenseParams{Name: "A", ExpiresAt: day(2026, 8, 2)})
			grace := add(api.CreateLicenseParams{Name: "B", ExpiresAt: day(2026, 8, 2), Terms: api.Terms{GraceSeconds: 99 * 24 * 3600}})
			later := add(api.CreateLicenseParams{Name: "C", StartsAt: day(2027, 10, 3)})
			good := add(api.CreateLicenseParams{Name: "D", ExpiresAt: day(2031, 3, 2), UpdatesUntil: day(2031, 3, 1), Terms: api.Terms{
				Meters: map[string]api.Meter{"a": {Limit: new(int64(4)), Per: api.PerYear}, "b": {}},
			}})
			paused, revoked := add(api.CreateLicenseParams{Name: "E"}), add(api.CreateLicenseParams{Name: "F"})
			_, err := s.Suspend(ctx, api.ChangeStateParams{ID: paused.ID})
			is.NoErr(err)
			_, err = s.Revoke(ctx, api.ChangeStateParams{ID: revoked.ID})
			is.NoErr(err)
			host.Clock.Advance(36 * time.Hour)
			link := host.start("PC")

			all := ""
			visit := func(method, path string, form url.Values, status int) {
				t.Helper()
				w := host.visit(method, path, form)
				is.Equal(w.Code, status)
				require.Contains(t, w.Body.String(), `<html lang="`+lang+`">`)
				translation.Shown(t, w.Body.String())
				all += w.Body.String()
			}
			visit("GET", "", nil, http.StatusOK)
			for _, l := range []api.License{ended, grace, later, good, paused, revoked} {
				visit("GET", l.ID, nil, http.StatusOK)
			}
			visit("GET", good.ID+"?released", nil, http.StatusOK)
			visit("POST", good.ID+"/request", url.Values{"request": {"x"}}, http.StatusConflict)
			visit("POST", ended.ID+"/file", nil, http.StatusConflict)
			visit("GET", "claim", nil, http.StatusOK)
			visit("POST", "claim", url.Values{"key": {"no such key"}}, http.StatusConflict)
			visit("GET", "link", nil, http.StatusOK)
			visit("GET", "link?declined", nil, http.StatusOK)
			visit("GET", "link?code="+link.Code, nil, http.StatusOK)
			visit("GET", "link?code=x", nil, http.StatusNotFound)
			visit("POST", "link", url.Values{"code": {link.Code}, "decision": {"approve"}, "license": {revoked.ID}}, http.StatusConflict)
			visit("GET", "lic_01234567890123456789012345", nil, http.StatusNotFound)
			host.user = "cus_bo"
			visit("GET", "", nil, http.StatusOK)
			visit("GET", "link?code="+link.Code, nil, http.StatusOK)
			require.Contains(t, all, want...)
		})
	}
}
