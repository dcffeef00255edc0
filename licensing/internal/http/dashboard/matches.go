package dashboard

import (
	"slices"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/kit"
)

// countMatches sets the numbers of a list, of which result is the page that p
// selects.
func countMatches(v *kit.Visit, list *licenseList, p api.ListLicensesParams, result api.ListPage) error {
	ctx, f := v.R.Context(), list.Filter
	counts, err := v.Licenses.Count(ctx, Filter{Search: f.Search, Key: f.Key, Product: f.Product, Customer: f.Customer}.params(v.Opts.Now()))
	if err != nil {
		return err
	}
	list.Tabs = f.tabs(&counts)
	current := slices.IndexFunc(list.Tabs, func(t listTab) bool { return t.Current && !list.Partial })
	var n kit.MatchCount
	switch {
	case p.Cursor == "" && !result.HasMore:
		n.N = int64(len(result.Data))
	case current >= 0 && f.Expires == "": // an expiry is counted as this list filters by it
		n = list.Tabs[current].n
	default:
		c, err := v.Licenses.Count(ctx, p)
		if err != nil {
			return err
		}
		n = kit.MatchCount{N: c.Total, More: c.AtLeast}
	}
	if n.More { // counting takes less time than the search of the page
		n.N = max(n.N, int64(len(result.Data)))
	}
	if current >= 0 {
		list.Tabs[current].Count = n.Number()
	}
	list.Count, list.AtLeast = n.Text("license"), n.More || counts.AtLeast
	if list.Filtered {
		list.Count = n.Text("matching license")
	}
	return nil
}

// uncounted sets the numbers of a list whose licenses must be read to count them.
func (list *licenseList) uncounted(p api.ListLicensesParams, result api.ListPage, examined int) {
	list.Count = kit.Count(len(result.Data), "matching license")
	if list.Every != "" {
		list.Count += " on this page"
	}
	if result.HasMore && len(result.Data) < p.Limit {
		list.Reached = "Searched " + kit.Count(examined, "license")
	}
}

// reached says how far a search has come that stopped before its end, in a list
// that descends in time or not. It is empty if the search did not stop.
func reached(page api.ListPage, descending bool) string {
	if page.SearchedTo.IsZero() {
		return ""
	}
	direction := "up"
	if descending {
		direction = "back"
	}
	return "Searched " + direction + " to " + page.SearchedTo.UTC().Format("2 January 2006")
}
