package dashboard_test

import (
	"context"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth/operator"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// found returns the links to licenses, customers and products in the results.
func found(a reply) (list []string) {
	main := a.body[strings.Index(a.body, `<main`):]
	for _, m := range regexp.MustCompile(`(?:rowheader"|any")(?:[^>]*)><a [^>]*>([^<]*)</a>|<a class="any"[^>]*>([^<]*)</a>`).FindAllStringSubmatch(main, -1) {
		list = append(list, html.UnescapeString(m[1]+m[2]))
	}
	return list
}

// TestSearchInPastedText: a key or an ID in a text leads to its license, for all roles: a
// generated key as people type it, and an imported one with other case and what mail puts around
// it. Of a text that is found nowhere, the address in it is looked for.
func TestSearchInPastedText(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	own := s.license(api.CreateLicenseParams{Name: "Own", CustomerID: "ines", Metadata: map[string]string{"email": "Ines@customer.example"}})
	other := s.license(api.CreateLicenseParams{Name: "Imported", CustomerID: "bob", Key: "38b1460a-5104-4067-a91d-77b872934d51"})
	s.operator("sue@example.com", operator.RoleSupport)
	lower := strings.ToLower(own.Key)
	for _, v := range []*visitor{s.admin(), s.signedIn("sue@example.com")} {
		for text, want := range map[string]string{
			own.Key: own.ID, lower: own.ID, "<" + own.Key + ">": own.ID, own.ID: own.ID,
			"Hello,\nmy key " + own.Key + " does not work.":                                   own.ID,
			"key: " + strings.ReplaceAll(lower, "-", " ") + "!":                               own.ID,
			"> my key is\n> " + own.Key[:12] + "\n> " + own.Key[12:]:                          own.ID,
			"It is " + strings.ReplaceAll(own.Key, "-", " - ") + ", I think":                  own.ID,
			"See (" + own.ID + "), please":                                                    own.ID,
			"38B1460A-5104-4067-A91D-77B872934D51":                                            other.ID,
			"<38b1460a-5104-4067-a91d-77b872934d51>":                                          other.ID,
			"\u201c38b1460a\u20115104\u20114067\u2011a91d\u201177b872934d51\u201d":            other.ID,
			"Our key *38B1460A-5104-4067-A91D-77B872934D51*, bought in internationalization.": other.ID,
			"38b1460a-5104-4067-a91d-77b872934d5":                                             "",
		} {
			to := v.get("search?q=" + url.QueryEscape(text)).to()
			if want != "" {
				want = "./licenses/" + want
			}
			is.Equal(to, want) // text
		}
		for text, want := range map[string]string{
			"Mail from Ines <ines@customer.example>, please answer": "./search?q=ines%40customer.example",
			"Reply to mailto:ines@customer.example.":                "./search?q=ines%40customer.example",
			"ines@customer.example":                                 "",
			"own ines@customer.example":                             "", // found as it is
			"nobody at all":                                         "",
			"no@customer.example":                                   "",
		} {
			is.Equal(v.get("search?q="+url.QueryEscape(text)).to(), want) // text
		}
		require.Contains(t, v.get("search?q=ines%40customer.example").body, own.ID)
	}
}

// TestSearchFromEveryPage uses the search box of a page as a browser does.
func TestSearchFromEveryPage(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	v := s.admin()
	ada := s.license(api.CreateLicenseParams{Name: "Harbour seats", CustomerID: "Ada@Example.com", ProductID: "atlas", Metadata: map[string]string{"order": "2026-0042"}})
	s.advance(time.Millisecond)
	s.license(api.CreateLicenseParams{Name: "Other", CustomerID: "bob", ProductID: "adamant"})
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
		"ADA":          {"Ada@Example.com", "bob", "Other", "Harbour seats", "adamant"}, // customers, also of the licenses, then licenses and products
		"exam ada":     {"Ada@Example.com", "Harbour seats"},
		"harb":         {"Ada@Example.com", "Harbour seats"},
		"0042":         {"Ada@Example.com", "Harbour seats"},
		"bob":          {"bob", "Other"},
		"arbour":       {"Ada@Example.com", "Harbour seats"},
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
	for _, text := range []string{ada.ID, ada.Key, strings.ToLower(strings.ReplaceAll(ada.Key, "-", " "))} {
		a := v.get("search?q=" + url.QueryEscape(text))
		is.Equal(a.StatusCode, http.StatusSeeOther)
		is.Equal(a.Header.Get("Location"), "./licenses/"+ada.ID)
	}
	is.Equal(v.get("search?q="+strings.Repeat("x", 1025)).StatusCode, http.StatusBadRequest)

	s.operator("eve@example.com", operator.RoleViewer) // does not see keys
	v = s.signedIn("eve@example.com")
	is.Equal(found(v.get("search?q=harb")), []string{"Ada@Example.com", "Harbour seats"})
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
		s.license(api.CreateLicenseParams{Name: "n", CustomerID: fmt.Sprintf("pilots-%02d", i), ProductID: fmt.Sprintf("pilot-%02d", i)})
	}
	a := v.get("search?q=pilot")
	is.Equal(len(found(a)), 10+5+5)
	is.Equal(len(found(v.link(a, "All matching licenses"))), 12)
	is.Equal(len(found(v.link(a, "All matching customers"))), 12)
	is.Equal(len(found(v.link(a, "All matching products"))), 12)
}

// A narrowSearch is a store that examines 3 licenses of the up to 1,000 of a call. It counts the
// latter.
type narrowSearch struct {
	store.Store
	examined *atomic.Int64
}

func (s narrowSearch) FindLicenses(ctx context.Context, q store.LicenseQuery) ([]store.License, store.Position, error) {
	s.examined.Add(int64(store.Examined(q.Examine)))
	words := q.Text
	q.Text, q.Limit = nil, 3
	rows, next, err := s.Store.FindLicenses(ctx, q)
	lacks := func(l store.License) bool {
		return slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(l.Text, word) })
	}
	return slices.DeleteFunc(rows, lacks), next, err
}

// TestSearchStops: a search that stops before its end says how far it has come and
// continues there, in both orders and directions. A number of matches that is not
// exact is marked. All searches of a page together examine 10,000 licenses.
func TestSearchStops(t *testing.T) {
	is := is.New(t)
	st := narrowSearch{memory.New(), new(atomic.Int64)}
	s := newSiteOn(t, st, licensing.Options{})
	for i := range 80 { // one a day from 1 March
		name := fmt.Sprint("Common ", i)
		if i == 10 || i == 70 {
			name = fmt.Sprint("Rare ", i)
		}
		s.license(api.CreateLicenseParams{Name: name})
		s.advance(24 * time.Hour)
	}
	v := s.admin()
	st.examined.Store(0)
	first := v.get("search?q=rare")
	is.Equal(st.examined.Load(), int64(store.MaxExamined))
	is.Equal(found(first), []string{"harbour-pilots", "Rare 70"})
	require.Contains(t, first.body, `<p class="note" role="status">Searched back to 20 April 2026 · <a href="./licenses?q=rare&amp;cursor=`)
	second := v.link(first, "Continue")
	is.Equal(names(second), "")
	require.Contains(t, second.body, "Searched back to 21 March 2026 · <a", "No matches found yet")
	third := v.link(second, "Continue")
	is.Equal(names(third), "Rare 10")
	require.NotContains(t, third.body, "Searched ", `rel="next"`)
	back := v.link(third, "Previous")
	is.Equal(names(back), "")
	require.Contains(t, back.body, "Searched up to 10 April 2026 · <a")
	is.Equal(names(v.link(back, "Continue")), "Rare 70")

	st.examined.Store(0)
	list := v.get("licenses?q=rare&sort=oldest")
	require.AtMost(t, st.examined.Load(), store.MaxExamined+1) // and the first one to count, unless a count is kept
	is.Equal(names(list), "Rare 10")
	require.Contains(t, list.body, "Searched up to 30 March 2026 · <a")
	require.Contains(t, list.body, "1&#43; matching licenses. A number with + is a minimum")
	require.Contains(t, list.body, `Suspended</a>`)
	require.NotContains(t, list.body, "Suspended <") // none so far, which is not known

	none := v.get("search?q=number-0")
	require.Contains(t, none.body, "No matches found yet.", ">Search in keys</a>")
	require.NotContains(t, none.body, "No matches</h2>")
	require.Contains(t, v.link(none, "Search in keys").body, "No matching licenses")
}
