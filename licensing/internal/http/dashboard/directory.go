package dashboard

import (
	"cmp"
	"context"
	"net/http"
	"strings"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/kit"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

// namesPerPage is the number of customers or products on a page.
const namesPerPage = 50

// A directory is the list of all customers or of all products.
type directory struct {
	Title, Path string
	One         string // the singular noun
	page        string // the page of a customer or the licenses of a product, as a reference without the ID
	Empty       string // the text of an empty list
	list        func(*license.Service, context.Context, api.NamesParams) (api.Page[api.NameCount], error)
}

var (
	customers = directory{
		Title: "Customers", Path: "customers", One: "customer", page: "customer?id=", list: (*license.Service).Customers,
		Empty: "A customer appears here when you create a license with its customer ID.",
	}
	Products = directory{
		Title: "Products", Path: "products", One: "product", page: "licenses?product=", list: (*license.Service).Products,
		Empty: "A product appears here when you create a license with its product ID.",
	}
)

// nameList is the body of the page of a directory.
type nameList struct {
	directory
	Column string // the label of the names
	Search string
	Rows   []nameRow
	kit.Pager
}

// nameRow is a customer or a product with the number of its licenses.
type nameRow struct {
	Name, Path, Count          string
	Person                     person // of a customer, or the name of a product
	Active, Expired, Suspended string
}

// A person is what the pages know about a customer beside the ID.
type person struct {
	Name  string // of more than half of the licenses; empty: they differ
	Email string // of the newest license that has one
}

// personOf returns who a customer is, by the newest licenses.
func personOf(v *kit.Visit, newest []api.License) (who person) {
	times := map[string]int{}
	for _, l := range newest {
		if times[l.Name]++; 2*times[l.Name] > len(newest) {
			who.Name = l.Name
		}
		who.Email = cmp.Or(who.Email, v.Email(l))
	}
	return who
}

// describe adds the numbers by status, and who a customer is, to a row.
func (d directory) describe(v *kit.Visit, row *nameRow) error {
	p := api.ListLicensesParams{ProductID: row.Name}
	if d.One == "customer" {
		p = api.ListLicensesParams{CustomerID: row.Name, NewestFirst: true, Limit: 1}
		newest, err := v.Licenses.List(v.R.Context(), p)
		if err != nil {
			return err
		}
		row.Person = personOf(v, newest.Data)
	} else if name := inner.Of(v.Licenses).Call().Opts.ProductName(row.Name); name != row.Name {
		row.Person.Name = name
	}
	counts, err := v.Licenses.Count(v.R.Context(), p)
	n := func(s api.LicenseStatus) string { return kit.Thousands(counts.ByStatus[s]) }
	row.Active, row.Expired, row.Suspended = n(api.LicenseActive), n(api.LicenseExpired), n(api.LicenseSuspended)
	return err
}

func (d directory) show(v *kit.Visit) error {
	q := v.R.URL.Query()
	body := nameList{directory: d, Column: kit.SentenceCase(d.One), Search: strings.TrimSpace(q.Get("q"))}
	filter := kit.QueryOf(map[string]string{"q": body.Search})
	list, err := d.list(v.Licenses, v.R.Context(), api.NamesParams{Search: body.Search, Cursor: q.Get("after"), Limit: namesPerPage})
	if err != nil {
		return err
	}
	body.Pager = v.Pager(filter, "after", list.NextCursor)
	for _, x := range list.Data {
		row := nameRow{Name: x.Name, Path: d.namePath(x.Name), Count: kit.Thousands(x.N)}
		if err := d.describe(v, &row); err != nil {
			return err
		}
		body.Rows = append(body.Rows, row)
	}
	return v.Render(http.StatusOK, "directory", kit.Page{Title: d.Title, Section: d.Path, Body: body})
}
