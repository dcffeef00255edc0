package dashboard_test

import (
	"cmp"
	"fmt"
	"html"
	"net/http"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

func TestCustomersAndProducts(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	v := s.admin()
	require.Contains(t, v.get("customers").body, "No customers yet")
	require.Contains(t, v.get("products").body, "No products yet")
	const odd = `ÿ <&> "a" +/?`
	for i := range 120 {
		s.license(api.CreateLicenseParams{Name: "Atlas", ProductID: []string{"atlas", "beacon", odd}[i%3], CustomerID: fmt.Sprintf("customer-%03d", i)})
	}
	s.license(api.CreateLicenseParams{Name: "Atlas", CustomerID: "customer-007"})
	s.license(api.CreateLicenseParams{Name: "Atlas", CustomerID: "Customer"})

	rows := func(page string) (list []string) {
		for query := page; ; {
			a := v.get(query)
			is.Equal(a.StatusCode, http.StatusOK)
			for _, m := range regexp.MustCompile(`rowheader"><a href="\./(?:customer\?id|licenses\?product)=[^"]*">([^<]*)</a>(?:<span class="sub">([^<]*)</span>)?</th>(?:\n<td role="cell" class="num" data-label="\w+"><div>\d+</div></td>){3}\n<td role="cell" class="num" data-label="Licenses"><div>(\d+)<`).FindAllStringSubmatch(a.body, -1) {
				list = append(list, html.UnescapeString(cmp.Or(m[2], m[1]))+" "+m[3])
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

	link := regexp.MustCompile(`href="\./(licenses\?product=%C3%BF[^"]*)"`).FindStringSubmatch(v.get("products").body)
	a := v.get(html.UnescapeString(link[1])) // a link with an escaped name
	require.Contains(t, a.body, "customer-002")
	require.NotContains(t, a.body, "customer-001")
}

// TestCustomersArePeople shows the name and the e-mail address of a customer from
// the newest license, and numbers by status.
func TestCustomersArePeople(t *testing.T) {
	is := is.New(t)
	s := newSiteOn(t, memory.New(), licensing.Options{EmailKey: "contact"})
	v := s.admin()
	s.license(api.CreateLicenseParams{Name: "Ada L.", CustomerID: "cus_1", Metadata: map[string]string{"contact": "old@example.com"}})
	s.advance(time.Minute)
	newest := s.license(api.CreateLicenseParams{Name: "Ada Lovelace", CustomerID: "cus_1", Metadata: map[string]string{"contact": "ada@analytical.example", "email": "no"}})
	_, err := s.Service().Suspend(t.Context(), api.ChangeStateParams{ID: newest.ID})
	is.NoErr(err)
	list := v.get("customers").body
	require.Contains(t, list, `">Ada Lovelace</a><span class="sub">ada@analytical.example · cus_1</span>`,
		`data-label="Active"><div>1<`, `data-label="Expired"><div>0<`, `data-label="Suspended"><div>1<`, `data-label="Licenses"><div>2<`)
	one := v.get("customer?id=cus_1").body
	require.Contains(t, one, "<h1>cus_1</h1>", `<a href="mailto:ada@analytical.example">`) // the names differ
	require.NotContains(t, one, "<code>cus_1</code>")
	require.Contains(t, one, `Last seen</span> <span class="text muted">Never`)
	s.activate(s.license(api.CreateLicenseParams{Name: "Ada Lovelace", CustomerID: "cus_1"}), "pc", "")
	require.Contains(t, v.get("customer?id=cus_1").body, `Last seen</span> <span class="text"><time`)
	s.license(api.CreateLicenseParams{Name: "Grace Hopper", CustomerID: "cus_2"})
	require.Contains(t, v.get("customer?id=cus_2").body, "<h1>Grace Hopper</h1>", "<code>cus_2</code>")
	require.Contains(t, v.get("products").body, `data-label="Suspended"><div>1<`)
}

// TestProductNames shows the name of a product beside its ID in the list of products, and
// elsewhere in the place of the ID.
func TestProductNames(t *testing.T) {
	is := is.New(t)
	s := newSiteOn(t, memory.New(), licensing.Options{ProductNames: map[string]string{"atlas": "Atlas for Desktop"}})
	v := s.admin()
	l := s.license(api.CreateLicenseParams{Name: "Ada L.", ProductID: "atlas", CustomerID: "cus_1"})
	s.license(api.CreateLicenseParams{Name: "Bob", ProductID: "beacon", CustomerID: "cus_2"})
	s.plan(api.PutPlanParams{ID: "year", Name: "Yearly", ProductID: "atlas"})
	require.Contains(t, v.get("products").body, `product=atlas">Atlas for Desktop</a><span class="sub">atlas</span>`, `product=beacon">beacon</a>`)
	for _, page := range []string{"licenses/" + l.ID, "customer?id=cus_1", "plan/year"} {
		a := v.get(page)
		is.Equal(a.StatusCode, 200)
		require.Contains(t, a.body, `product=atlas">Atlas for Desktop</a>`)
	}
}
