package dashboard

import (
	"slices"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// A matchCount is the number of licenses that match a filter.
type matchCount struct {
	n    int64
	more bool // there can be more than n
}

// text returns the number with a unit, such as "1 license" or "10,000+ licenses".
func (m matchCount) text(unit string) string {
	if m.n != 1 || m.more {
		unit += "s"
	}
	return m.number() + " " + unit
}

func (m matchCount) number() string {
	if m.more {
		return thousands(m.n) + "+"
	}
	return thousands(m.n)
}

// countMatches sets the numbers of a list, of which result is the page that p
// selects.
func (v *visit) countMatches(list *licenseList, p api.ListLicensesParams, result api.ListPage) error {
	ctx, f := v.r.Context(), list.Filter
	counts, err := v.licenses.Count(ctx, filter{Search: f.Search, Key: f.Key, Product: f.Product, Customer: f.Customer}.params(v.h.opts.Now()))
	if err != nil {
		return err
	}
	list.Tabs = f.tabs(&counts)
	current := slices.IndexFunc(list.Tabs, func(t listTab) bool { return t.Current && !list.Partial })
	var n matchCount
	switch {
	case p.Cursor == "" && !result.HasMore:
		n.n = int64(len(result.Data))
	case current >= 0 && f.Expires == "": // an expiry is counted as this list filters by it
		n = list.Tabs[current].n
	default:
		c, err := v.licenses.Count(ctx, p)
		if err != nil {
			return err
		}
		n = matchCount{c.Total, c.AtLeast}
	}
	if n.more { // counting takes less time than the search of the page
		n.n = max(n.n, int64(len(result.Data)))
	}
	if current >= 0 {
		list.Tabs[current].Count = n.number()
	}
	list.Count, list.AtLeast = n.text("license"), n.more || counts.AtLeast
	if list.Filtered {
		list.Count = n.text("matching license")
	}
	return nil
}

// uncounted sets the numbers of a list whose licenses must be read to count them.
func (list *licenseList) uncounted(p api.ListLicensesParams, result api.ListPage, examined int) {
	list.Count = count(len(result.Data), "matching license")
	if list.Every != "" {
		list.Count += " on this page"
	}
	if result.HasMore && len(result.Data) < p.Limit {
		list.Reached = "Searched " + count(examined, "license")
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
