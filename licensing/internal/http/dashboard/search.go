package dashboard

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
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

// foundNames returns the first customers or products of a search by their ID.
func (v *visit) foundNames(d directory, text string) (found foundNames, err error) {
	names, err := d.list(v.licenses, v.r.Context(), api.NamesParams{Search: text, Limit: namesFound})
	found = foundNames{Title: d.Title, Path: d.Path, More: names.HasMore}
	found.Rows = each(names.Data, func(n api.NameCount) nameRow {
		return nameRow{Name: n.Name, Path: d.namePath(n.Name), Count: count(int(n.N), "license")}
	})
	return found, err
}

// addOwners adds the customers of the licenses and purchases that the search found, and
// says who the customers are, by these licenses.
func (v *visit) addOwners(p *searchPage) {
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
		found.Rows[i].Person = v.person(of[row.Name])
	}
}

// showSearch shows what the search in the top bar has found. The ID or the key of
// a license leads to that license.
func showSearch(v *visit) error {
	ctx, text := v.r.Context(), strings.TrimSpace(v.r.URL.Query().Get("q"))
	body := searchPage{Search: text}
	render := func() error {
		return v.render(http.StatusOK, "search", page{Title: "Search", Section: "search", Body: body})
	}
	if text == "" {
		return render()
	}
	if cursor := v.r.URL.Query().Get("activations"); cursor != "" {
		body.First = "search?" + url.Values{"q": {text}}.Encode()
		if err := body.Elsewhere.addFingerprints(v, text, cursor); err != nil {
			return err
		}
		return render()
	}
	f := filter{Search: text}
	params := f.params(v.h.opts.Now())
	params.Limit = licensesFound
	found, err := v.licenses.List(ctx, params)
	if err != nil {
		return err
	}
	if len(found.Data) == 1 && v.isNamed(found.Data[0], text) {
		return v.redirect(licensePath(found.Data[0].ID))
	}
	body.All = "licenses?" + f.query().Encode()
	body.More, body.Reached = found.HasMore, reached(found, params.NewestFirst)
	body.Continue = withQuery(body.All, url.Values{"cursor": {found.NextCursor}}.Encode())
	rows, err1 := v.foundRows(found.Data, text)
	err2 := body.Elsewhere.addKeys(v, f, found)
	err3 := body.Elsewhere.addFingerprints(v, text, "")
	purchases, more, err4 := inner.Of(v.licenses).Find().FindPurchases(ctx, text, purchasesFound)
	byCustomer, err5 := v.foundNames(customers, text)
	byProduct, err6 := v.foundNames(products, text)
	if err := cmp.Or(err1, err2, err3, err4, err5, err6); err != nil {
		return err
	}
	body.Rows, body.Customers, body.Products = rows, byCustomer, byProduct
	body.Purchases, body.MorePurchases = each(purchases, v.purchaseRow), more
	v.addOwners(&body)
	return render()
}

// isNamed reports whether a text is the ID or the key of a license, which is the
// only one that a search for the text has found. Of a masked key, only
// the part that is shown is compared.
func (v *visit) isNamed(l api.License, text string) bool {
	plain := func(s string) string { return strings.ToUpper(strings.NewReplacer("-", "", " ", "").Replace(s)) }
	if end, masked := strings.CutPrefix(l.Key, "…"); masked && !v.may(keyReaders) {
		return text == l.ID || len(text) > len(end) && strings.HasSuffix(plain(text), plain(end))
	}
	return text == l.ID || plain(text) == plain(l.Key)
}
