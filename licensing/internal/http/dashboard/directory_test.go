package dashboard_test

import (
	"fmt"
	"html"
	"net/http"
	"regexp"
	"slices"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/require"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

func TestCustomersAndProducts(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	v := s.admin()
	require.Contains(t, v.get("customers").body, "No customers yet")
	require.Contains(t, v.get("products").body, "No products yet")
	const odd = `ÿ <&> "a" +/?`
	for i := range 120 {
		s.license(license.CreateParams{Name: "Atlas", ProductID: []string{"atlas", "beacon", odd}[i%3], CustomerID: fmt.Sprintf("customer-%03d", i)})
	}
	s.license(license.CreateParams{Name: "Atlas", CustomerID: "customer-007"})
	s.license(license.CreateParams{Name: "Atlas", CustomerID: "Customer"})

	rows := func(page string) (list []string) {
		for query := page; ; {
			a := v.get(query)
			is.Equal(a.StatusCode, http.StatusOK)
			for _, m := range regexp.MustCompile(`rowheader"><a href="\./(?:customer|product)\?id=[^"]*">([^<]*)</a></th>\n<td role="cell" data-label="Licenses">(\d+)<`).FindAllStringSubmatch(a.body, -1) {
				list = append(list, html.UnescapeString(m[1])+" "+m[2])
			}
			next := regexp.MustCompile(`rel="next" href="([^"]*)"`).FindStringSubmatch(a.body)
			if next == nil {
				return list
			}
			query = regexp.MustCompile(`^\w+`).FindString(page) + html.UnescapeString(next[1])
		}
	}
	all := rows("customers")
	is.Equal(len(all), 121)
	is.True(slices.IsSorted(all))
	is.Equal(all[0], "Customer 1")
	is.Equal(all[8], "customer-007 2")
	is.Equal(len(rows("customers?q=customer-0")), 100)
	is.Equal(rows("customers?q=CUSTOMER-11"), []string{
		"customer-110 1", "customer-111 1", "customer-112 1", "customer-113 1", "customer-114 1",
		"customer-115 1", "customer-116 1", "customer-117 1", "customer-118 1", "customer-119 1",
	})
	is.Equal(rows("customers?q=007"), []string{"customer-007 2"})
	is.Equal(len(rows("customers?q=cust")), 121)
	is.Equal(rows("products"), []string{"atlas 42", "beacon 40", odd + " 40"})
	require.Contains(t, v.get("customers?q=unknown").body, "No matching customers")
	is.Equal(v.get("customers?q=%00").StatusCode, http.StatusBadRequest)

	link := regexp.MustCompile(`href="\./(product\?id=[^"]*FF[^"]*|product\?id=%C3%BF[^"]*)"`).FindStringSubmatch(v.get("products").body)
	a := v.link(v.get(html.UnescapeString(link[1])), "View all licenses") // a link with an escaped name
	require.Contains(t, a.body, "customer-002")
	require.NotContains(t, a.body, "customer-001")
}
