package dashboard_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

// TestFormsReportAllErrorsTogether submits values that cannot be parsed together
// with values that the service rejects, and several invalid lines in one field.
func TestFormsReportAllErrorsTogether(t *testing.T) {
	s := newSite(t)
	v := s.admin()
	end := s.now.AddDate(0, 0, 10)
	l := s.license(license.CreateParams{Name: "Atlas", ExpiresAt: &end})
	edit := fields(v.get("licenses/" + l.ID + "/edit"))
	edit.Set("name", "")
	edit.Set("lease", "a while")
	edit.Set("metadata", "a\nb = 1\nc")
	for name, tt := range map[string]struct {
		answer reply
		says   []string
	}{
		"new license": {
			v.post("licenses/new", "name", "", "product_id", "atlas", "grace", "a while", "starts_at", "soon", "expires_at", "2026-01-01",
				"entitlements", "a =\nb\n = 3\n"+strings.Repeat("x", 300)+" = "+strings.Repeat("y", 999), "metadata", "a\nb = 1\nc"),
			[]string{
				`f-name-error">Is required`, `f-customer_id-error">Is required`, `f-grace-error">Enter a number`, `f-starts_at-error">Enter a date`,
				`f-entitlements-error">Line 1: the value`, `Line 3 has no name`, `Each name must be`, `f-metadata-error">Line 1 is not`, `Line 3 is not`,
			},
		},
		"edited license": {
			v.post("licenses/"+l.ID+"/edit", flat(edit)...),
			[]string{`f-name-error">Is required`, `f-lease-error">Enter a number`, `f-metadata-error">Line 1 is not`, `Line 3 is not`},
		},
		"credential": {
			v.post("settings/credentials/new", "products", "good\nbad\x02\nworse\x01"),
			[]string{`f-name-error">`, `f-scopes-error">Select`, "“bad\x02”", "“worse\x01”"},
		},
		"credential's products": {
			v.post("settings/credentials/new", "name", "Shop", "scopes", auth.ScopeLicenseRead, "products", strings.Repeat("x", 256)+"\ngood\n"+strings.Repeat("z", 256)),
			[]string{"xxx” ", "zzz” "},
		},
		"webhook": {
			v.post("settings/webhooks/new", "url", "nowhere", "types", "license.mislaid\nlicense.*\nlicense.lost"),
			[]string{`f-url-error">`, "“license.mislaid”", "“license.lost”"},
		},
		"renewal": {
			v.post("licenses/"+l.ID+"/renew", "term", "length", "duration", "a while", "reason", "a\x01"),
			[]string{`f-duration-error">Enter a number`, `f-reason-error">`},
		},
		"verdict": {
			v.get("licenses/" + l.ID + "?at=soon&fingerprint=%01"),
			[]string{`f-at-error">Enter a date`, `f-fingerprint-error">`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			is.Equal(tt.answer.StatusCode, http.StatusUnprocessableEntity)
			for _, text := range tt.says {
				if !tt.answer.says(text) {
					t.Errorf("the page does not contain %q", text)
				}
			}
		})
	}
	is := is.New(t)
	after, err := s.Service().Get(t.Context(), l.ID)
	is.NoErr(err)
	is.Equal(after, l)
	clients, err := s.Auth().ListClients(t.Context(), auth.ListClientsParams{})
	is.NoErr(err)
	is.Equal(len(clients), 0)
}

func TestFormsLimitLineErrors(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	v := s.admin()
	var lines []string
	for i := range 5000 {
		lines = append(lines, fmt.Sprintf("line-%d", i))
	}
	a := v.post("licenses/new", "metadata", strings.Join(lines, "\n"))
	is.Equal(a.StatusCode, http.StatusUnprocessableEntity)
	is.True(a.says("Line 10 is not") && !a.says("Line 11 is not") && a.says("There are more errors like these."))
}
