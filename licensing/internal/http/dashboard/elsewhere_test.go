package dashboard_test

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth/operator"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// headings returns the headings of the sections of results.
func headings(a reply) (list []string) {
	for _, m := range regexp.MustCompile(`<h2 id="\w+-found">([^<]*)</h2>`).FindAllStringSubmatch(a.body, -1) {
		list = append(list, m[1])
	}
	return list
}

// TestSearchInKeys: part of a key is searched only for operators who see keys, if
// the text is found nowhere else, and has a section and a list of its own.
func TestSearchInKeys(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	v := s.admin()
	for i := range 12 {
		s.license(api.CreateLicenseParams{Name: fmt.Sprintf("Imported %02d", i), Key: fmt.Sprintf("shop-key-number-%02d", i)})
		s.advance(time.Millisecond)
	}
	s.license(api.CreateLicenseParams{Name: "About number-0"})
	for _, page := range []string{"search", "licenses"} {
		a := v.get(page + "?q=key-number")
		is.Equal(headings(a), []string{"Licenses by part of their key"})
		is.Equal(len(found(a)), 10)
		require.NotContains(t, a.body, "No match")
		require.Contains(t, a.body, `licenses/lic_`)
		all := v.link(a, "All with this part")
		is.Equal(len(found(all)), 12)
		require.Contains(t, all.body, `name="key" type="text" value="key-number"`, "12 matching licenses")
		require.Contains(t, all.body, `All <span class="muted">12</span>`)
		is.Equal(v.get(page+"?q=number-0").says("part of their key"), false) // a name has it
		is.Equal(headings(v.get(page+"?q=key-numbers")), nil)
	}
	is.Equal(found(v.get("licenses?key=number-07&status=active")), []string{"Imported 07"})
	is.Equal(found(v.get("licenses?key=number-07&status=revoked")), nil)
	is.Equal(found(v.get("licenses?q=number-07&status=revoked")), nil)
	require.Contains(t, v.get("licenses/selected/suspend?all=1&key=number-07").body, "a key that contains “number-07”")
	download := v.get("licenses.csv?key=number-07")
	is.Equal(strings.Count(download.body, "\n"), 2)
	events, err := s.Service().Events(t.Context(), api.ListEventsParams{Types: []string{api.EventLicensesExported}})
	is.NoErr(err)
	require.Contains(t, string(events.Data[0].Data), `"search":true`)
	require.NotContains(t, string(events.Data[0].Data), "number-07")

	s.operator("eve@example.com", operator.RoleViewer)
	v = s.signedIn("eve@example.com")
	for _, page := range []string{"search?q=key-number", "licenses?q=key-number", "licenses?key=key-number"} {
		a := v.get(page)
		is.Equal(headings(a), nil)
		is.Equal(found(a), nil)
		require.NotContains(t, a.body, "Part of the key", `name="key"`)
	}
}

// TestSearchByFingerprint finds activations by the beginning of a fingerprint.
func TestSearchByFingerprint(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	v := s.admin()
	l := s.license(api.CreateLicenseParams{Name: "Harbour seats", CustomerID: "anna", Terms: api.Terms{MaxActivations: ptr[int64](60)}})
	for i := range 58 {
		s.activate(l, fmt.Sprintf("LAPTOP-%02d", i), "")
	}
	ended := s.activate(l, "LAPTOP-58", "")
	_, err := s.Service().Deactivate(t.Context(), api.DeactivateKeyParams{Key: l.Key, Fingerprint: "LAPTOP-58"})
	is.NoErr(err)
	a := v.get("search?q=LAPTOP")
	is.Equal(headings(a), []string{"Activations by fingerprint"})
	is.Equal(strings.Count(a.body, "<code>LAPTOP-"), 5)
	more := v.link(a, "More activations")
	is.Equal(headings(more), []string{"Activations by fingerprint"})
	is.Equal(strings.Count(more.body, "<code>LAPTOP-"), 50)
	last := v.link(more, "Next page")
	is.Equal(strings.Count(last.body, "<code>LAPTOP-"), 4)
	require.Contains(t, last.body, `/activations?ended=1#`+ended.ID+`"><code>LAPTOP-58</code>`)
	require.NotContains(t, last.body, `rel="next"`)
	is.Equal(v.link(last, "First page").body, a.body)

	is.Equal(headings(v.get("licenses?q=LAPTOP")), []string{"Activations by fingerprint"})
	is.Equal(headings(v.get("licenses?q=LAPTOP&customer=bob")), nil) // a filter that fingerprints do not have
	require.Contains(t, v.get("search?q=laptop").body, "No matches")
	require.Contains(t, v.get("search?q="+url.QueryEscape(strings.Repeat("x", 1000))).body, "No matches") // longer than a fingerprint
	is.Equal(v.get("search?q=LAPTOP&activations=x").StatusCode, http.StatusBadRequest)
}

// TestSearchSaysWhy: a result that is not found by its name says where the text is,
// after those found by their name.
func TestSearchSaysWhy(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	v := s.admin()
	s.license(api.CreateLicenseParams{Name: "Élif", CustomerID: "c"})
	s.advance(time.Millisecond)
	s.license(api.CreateLicenseParams{Name: "Harbour", CustomerID: "elif-gmbh"})
	s.advance(time.Millisecond)
	s.license(api.CreateLicenseParams{Name: "Ferry", Metadata: map[string]string{"contact": "elif@example.com"}})
	for _, page := range []string{"search", "licenses"} {
		a := v.get(page + "?q=elif")
		licenses := slices.DeleteFunc(found(a), func(name string) bool { return strings.ToLower(name) == name }) // without customers
		is.Equal(licenses[:3], []string{"Élif", "Ferry", "Harbour"})
		is.Equal(regexp.MustCompile(`<span class="muted small" title="[^"]*">([^<]*)<`).FindAllString(a.body, -1), []string{
			`<span class="muted small" title="contact: elif@example.com">contact: elif@example.com<`,
			`<span class="muted small" title="customer: elif-gmbh">customer: elif-gmbh<`,
		})
	}
	require.NotContains(t, v.get("licenses").body, "contact: ")
}
