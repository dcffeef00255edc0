package dashboard_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/internal/require"
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
	setPairs(edit, "metadata", "a", `"x`, "b", "1", "", "c")
	for name, tt := range map[string]struct {
		answer reply
		says   []string
	}{
		"new license": {
			v.post("licenses/new", "name", "", "product_id", "atlas", "grace", "a while", "starts_at", "soon", "expires_at", "2026-01-01",
				"entitlements_name", "a", "entitlements_value", `"x`, "entitlements_name", "b", "entitlements_value", "", "entitlements_name", "", "entitlements_value", "3",
				"entitlements_name", strings.Repeat("x", 300), "entitlements_value", strings.Repeat("y", 999),
				"metadata_name", "a", "metadata_value", "1", "metadata_name", "b", "metadata_value", "2", "metadata_name", "a", "metadata_value", "3"),
			[]string{
				`f-name-error">Enter a value.`, `f-customer_id-error">Enter a value.`, `f-grace-error">Enter a whole number`, `f-starts_at-error">Enter a date`,
				`f-entitlements-error">Row 1: the quotation marks are not balanced.`, `Row 3: enter a name, or clear the value.`, `Each name must be`, `f-metadata-error">Row 3: the name is used twice.`,
			},
		},
		"edited license": {
			v.post("licenses/"+l.ID+"/edit", flat(edit)...),
			[]string{`f-name-error">Enter a value.`, `f-lease-error">Enter a whole number`, `f-metadata-error">Row 1: the quotation`, `Row 3: enter a name`},
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
			v.post("settings/webhooks/new", "url", "nowhere", "types", "all", "types", "license.*"),
			[]string{`f-url-error">`, `f-types-error">Clear “All events”`},
		},
		"renewal": {
			v.change("licenses/"+l.ID+"/renew", "term", "length", "duration", "a while", "reason", "a\x01"),
			[]string{`f-duration-error">Enter a whole number`, `f-reason-error">`},
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
	is.Equal(len(clients.Data), 0)
}

func TestFormsLimitLineErrors(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	v := s.admin()
	var form []string
	for range 5000 {
		form = append(form, "metadata_name", "", "metadata_value", "x")
	}
	a := v.post("licenses/new", form...)
	is.Equal(a.StatusCode, http.StatusUnprocessableEntity)
	require.Contains(t, a.body, "Row 10: enter")
	require.NotContains(t, a.body, "Row 11: enter")
	require.Contains(t, a.body, "There are more errors like these.")
}

// TestPairs adds rows to a form without submitting it, and edits entitlements and
// metadata in rows.
func TestPairs(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	v := s.admin()
	form := fields(v.get("licenses/new"))
	is.Equal(form["entitlements_name"], []string{"", ""}) // blank rows
	form.Set("name", "Atlas")
	setPairs(form, "entitlements", "seats", "5", "sso", "")
	form.Set("more", "entitlements")
	a := v.post("licenses/new", flat(form)...)
	is.Equal(a.StatusCode, http.StatusOK)
	require.NotContains(t, a.body, `role="alert"`) // the form is not checked yet
	more := fields(a)
	is.Equal(more["entitlements_name"], []string{"seats", "sso", "", "", "", ""})
	is.Equal(more["entitlements_value"], []string{"5", "", "", "", "", ""})
	is.Equal(more["metadata_name"], []string{"", ""})
	is.Equal(more.Get("name"), "Atlas")
	is.Equal(more.Get("once"), form.Get("once"))
	licenses, err := s.Service().List(t.Context(), license.ListParams{})
	is.NoErr(err)
	is.Equal(len(licenses.Data), 0)

	entitlements := map[string]any{"yes": true, "n": 1.5, "text": "x", "number as text": "7", "word": "true", "quote": `"q"`, "json": "null"}
	metadata := map[string]string{"blank": "", "quote": `"q"`, "number": "7"}
	l := s.license(license.CreateParams{Name: "Atlas", Entitlements: entitlements, Metadata: metadata})
	page := "licenses/" + l.ID + "/edit"
	edit := fields(v.get(page))
	edit.Set("more", "metadata")
	edit = fields(v.post(page, flat(edit)...)) // with the version of the license
	edit.Del("more")
	is.Equal(v.follow(v.post(page, flat(edit)...)).notice(), "Nothing was changed.")
	edit.Add("metadata_name", "added")
	edit.Add("metadata_value", "later")
	is.Equal(v.follow(v.post(page, flat(edit)...)).notice(), "Your changes have been saved.")
	after, err := s.Service().Get(t.Context(), l.ID)
	is.NoErr(err)
	is.Equal(after.Entitlements, entitlements)
	metadata["added"] = "later"
	is.Equal(after.Metadata, metadata)

	setPairs(edit, "entitlements", "bad", `"x`, "long", strings.Repeat("x", 256), "good", "1")
	edit.Set("version", v.get(page).hidden("version"))
	a = v.post(page, flat(edit)...)
	is.Equal(a.StatusCode, http.StatusUnprocessableEntity)
	for i, want := range []bool{true, true, false} { // rows with errors are marked
		is.Equal(a.says(fmt.Sprintf(`aria-label="Entitlement %d, name" aria-invalid="true"`, i+1)), want)
	}
}

func TestExistingKey(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	v := s.admin()
	form := []string{"name", "Atlas", "product_id", "atlas", "customer_id", "ada", "key", " OLD-system/0123456789 "}
	a := v.post("licenses/new", form...)
	is.Equal(a.StatusCode, http.StatusSeeOther)
	require.Contains(t, v.follow(a).body, "OLD-system/0123456789")
}
