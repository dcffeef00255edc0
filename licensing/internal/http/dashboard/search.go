package dashboard

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/kit"
)

// The number of licenses, of purchases, and of customers or products, that a search
// shows.
const (
	licensesFound  = 10
	purchasesFound = 5
	namesFound     = 5
)

// searchPage is the body of the results of the search in the top bar.
type searchPage struct {
	Search string
	Rows   []licenseRow
	All    string // the list of all licenses found, as a reference from dashboard/
	More   bool   // it has more licenses, or the search did not reach its end

	Customers, Products foundNames

	Purchases     []purchaseRow // with the reference, and those without a license
	MorePurchases bool

	Reached string // how far the search has come, if it did not reach its end

	Continue  string // the list that continues it, as a reference from dashboard/
	Elsewhere elsewhere
	First     string // the first page of a search, if this has more activations
}

// None reports whether nothing was found.
func (p searchPage) None() bool {
	return len(p.Rows) == 0 && !p.More && p.Customers.None() && p.Products.None() && len(p.Purchases) == 0 && !p.MorePurchases && p.First == "" && p.Elsewhere.None()
}

// foundNames are some of the customers or products that a search found.
type foundNames struct {
	Title, Path string
	Rows        []nameRow
	More        bool
}

// None reports whether nothing was found.
func (n foundNames) None() bool { return len(n.Rows) == 0 && !n.More }

// findNames returns the first customers or products of a search by their ID.
func findNames(v *kit.Visit, d directory, text string) (found foundNames, err error) {
	names, err := d.list(v.Licenses, v.R.Context(), api.NamesParams{Search: text, Limit: namesFound})
	found = foundNames{Title: d.Title, Path: d.Path, More: names.HasMore}
	found.Rows = kit.Each(names.Data, func(n api.NameCount) nameRow {
		return nameRow{Name: n.Name, Path: d.namePath(n.Name), Count: kit.Count(int(n.N), "license")}
	})
	return found, err
}

// addOwners adds the customers of the licenses and purchases that the search found, and
// says who the customers are, by these licenses.
func addOwners(v *kit.Visit, p *searchPage) {
	of := map[string][]api.License{}
	var ids []string
	for _, row := range p.Rows {
		ids = append(ids, row.License.CustomerID)
		of[row.License.CustomerID] = append(of[row.License.CustomerID], row.License)
	}
	for _, f := range p.Purchases {
		ids = append(ids, f.CustomerID)
	}
	found := &p.Customers
	for _, id := range ids {
		if len(found.Rows) < namesFound && id != "" && !slices.ContainsFunc(found.Rows, func(n nameRow) bool { return n.Name == id }) {
			found.Rows = append(found.Rows, nameRow{Name: id, Path: customers.namePath(id)})
		}
	}
	for i, row := range found.Rows {
		found.Rows[i].Person = personOf(v, of[row.Name])
	}
}

// showSearch shows what the search in the top bar has found. A text with the ID or the key of
// a license leads to that license, and one that is found nowhere to the address in it.
func showSearch(v *kit.Visit) error {
	ctx, text := v.R.Context(), strings.TrimSpace(v.R.URL.Query().Get("q"))
	body := searchPage{Search: text}
	render := func() error {
		return v.Render(http.StatusOK, "search", kit.Page{Title: "Search", Section: "search", Body: body})
	}
	if text == "" {
		return render()
	}
	if cursor := v.R.URL.Query().Get("activations"); cursor != "" {
		body.First = "search?" + url.Values{"q": {text}}.Encode()
		if err := body.Elsewhere.addFingerprints(v, text, cursor); err != nil {
			return err
		}
		return render()
	}
	if l, ok, err := inner.Of(v.Licenses).Find().FindPasted(ctx, text); err != nil {
		return err
	} else if ok {
		return v.Redirect(kit.LicensePath(l.ID))
	}
	f := Filter{Search: text}
	params := f.params(v.Opts.Now())
	params.Limit = licensesFound
	found, err := v.Licenses.List(ctx, params)
	if err != nil {
		return err
	}
	body.All = "licenses?" + f.query().Encode()
	body.More, body.Reached = found.HasMore, reached(found, params.NewestFirst)
	body.Continue = kit.WithQuery(body.All, url.Values{"cursor": {found.NextCursor}}.Encode())
	rows, err1 := foundRows(v, found.Data, text)
	err2 := body.Elsewhere.addKeys(v, f, found)
	err3 := body.Elsewhere.addFingerprints(v, text, "")
	purchases, more, err4 := inner.Of(v.Licenses).Find().FindPurchases(ctx, text, purchasesFound)
	byCustomer, err5 := findNames(v, customers, text)
	byProduct, err6 := findNames(v, Products, text)
	if err := cmp.Or(err1, err2, err3, err4, err5, err6); err != nil {
		return err
	}
	body.Rows, body.Customers, body.Products = rows, byCustomer, byProduct
	body.Purchases, body.MorePurchases = kit.Each(purchases, func(f api.Purchase) purchaseRow { return purchaseRowOf(v, f) }), more
	addOwners(v, &body)
	if address := inner.Of(v.Licenses).Find().AddressIn(text); body.None() && address != "" && address != text {
		return v.Redirect("search?" + url.Values{"q": {address}}.Encode())
	}
	return render()
}
