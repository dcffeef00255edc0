package dashboard_test

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth/operator"
	"github.com/seed-d8a106b4/licensekit/internal/require"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

// found returns the links to licenses, customers and products in the results.
func found(a reply) (list []string) {
	main := a.body[strings.Index(a.body, `<main`):]
	for _, m := range regexp.MustCompile(`(?:rowheader"|any")(?:[^>]*)><a [^>]*>([^<]*)</a>|<a class="any"[^>]*>([^<]*)</a>`).FindAllStringSubmatch(main, -1) {
		list = append(list, html.UnescapeString(m[1]+m[2]))
	}
	return list
}

// TestSearchFromEveryPage uses the search box of a page as a browser does.
func TestSearchFromEveryPage(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	v := s.admin()
	ada := s.license(license.CreateParams{Name: "Harbour seats", CustomerID: "Ada@Example.com", ProductID: "atlas", Metadata: map[string]string{"order": "2026-0042"}})
	s.advance(time.Millisecond)
	s.license(license.CreateParams{Name: "Other", CustomerID: "bob", ProductID: "adamant"})
	s.activate(ada, "host-jupiter", "")
	for _, page := range []string{"", "licenses", "licenses/" + ada.ID, "customers", "settings/webhooks", "search?q=x", "nowhere"} {
		a := v.get(page)
		box := regexp.MustCompile(`<search class="finder"[^>]*><form method="get" action="([^"]*)">\n<label for="find" class="vh">[^<]+</label>\n<input id="find" name="q"`).FindStringSubmatch(a.body)
		is.True(box != nil) // page
		from, err := url.Parse(s.base + "/dashboard/" + page)
		is.NoErr(err)
		to, err := from.Parse(box[1])
		is.NoErr(err)
		is.Equal(to.String(), s.base+"/dashboard/search")
	}
	for text, want := range map[string][]string{
		"ADA":          {"Other", "Harbour seats", "Ada@Example.com", "adamant"}, // a license, a customer and a product
		"exam ada":     {"Harbour seats", "Ada@Example.com"},
		"harb":         {"Harbour seats"},
		"0042":         {"Harbour seats"},
		"bob":          {"Other", "bob"},
		"arbour":       {"Harbour seats"},
		ada.Key[6:11]:  {"Harbour seats"},
		ada.Key[6:10]:  {"Harbour seats"},
		"unheard of":   nil,
		"":             nil,
		"atlas jupit":  nil,
		"2026-0042 xy": nil,
	} {
		a := v.get("search?q=" + url.QueryEscape(text))
		is.Equal(a.StatusCode, http.StatusOK)
		is.Equal(found(a), want) // text
		is.Equal(a.says("No matches"), want == nil && text != "")
		require.Contains(t, a.body, `name="q" type="search" value="`+text+`"`)
	}
	a := v.link(v.get("search?q=harb"), "Harbour seats")
	require.Contains(t, a.body, `<a class="crumb" href="../licenses?q=harb"`) // back to all results
	for _, text := range []string{ada.ID, ada.Key, strings.ToLower(strings.ReplaceAll(ada.Key, "-", " "))} {
		a := v.get("search?q=" + url.QueryEscape(text))
		is.Equal(a.StatusCode, http.StatusSeeOther)
		is.Equal(a.Header.Get("Location"), "./licenses/"+ada.ID)
	}
	is.Equal(v.get("search?q="+strings.Repeat("x", 1025)).StatusCode, http.StatusBadRequest)

	s.operator("eve@example.com", operator.RoleViewer) // does not see keys
	v = s.signedIn("eve@example.com")
	is.Equal(found(v.get("search?q=harb")), []string{"Harbour seats"})
	is.Equal(found(v.get("search?q="+ada.Key[6:11])), nil)
	for _, text := range []string{ada.ID, ada.Key, strings.ToLower(strings.ReplaceAll(ada.Key, "-", " "))} {
		is.Equal(v.get("search?q="+url.QueryEscape(text)).Header.Get("Location"), "./licenses/"+ada.ID)
	}
}

// TestSearchShowsSomeOfMany: each group shows its first results and leads to all.
func TestSearchShowsSomeOfMany(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	v := s.admin()
	for i := range 12 {
		s.license(license.CreateParams{Name: "n", CustomerID: fmt.Sprintf("pilots-%02d", i), ProductID: fmt.Sprintf("pilot-%02d", i)})
	}
	a := v.get("search?q=pilot")
	is.Equal(len(found(a)), 10+5+5)
	is.Equal(len(found(v.link(a, "All matching licenses"))), 12)
	is.Equal(len(found(v.link(a, "All matching customers"))), 12)
	is.Equal(len(found(v.link(a, "All matching products"))), 12)
}
