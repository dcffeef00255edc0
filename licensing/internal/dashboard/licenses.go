package dashboard

import (
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

// filter has the filters of the license list. All of them are in the query, so
// that a view can be bookmarked and shared.
type filter struct {
	Search, Status, Product, Customer, Expires, Sort string
}

// expiryWindows are the options of the filter by expiry.
var expiryWindows = []struct {
	value, label string
	from, until  time.Duration
}{
	{"7d", "in the next 7 days", 0, 7 * 24 * time.Hour},
	{"30d", "in the next 30 days", 0, 30 * 24 * time.Hour},
	{"90d", "in the next 90 days", 0, 90 * 24 * time.Hour},
	{"365d", "in the next 365 days", 0, 365 * 24 * time.Hour},
	{"past30d", "in the last 30 days", -30 * 24 * time.Hour, 0},
}

// windowLabel returns the label of a filter by expiry, or "".
func windowLabel(value string) string {
	for _, w := range expiryWindows {
		if w.value == value {
			return w.label
		}
	}
	return ""
}

func readFilter(q url.Values) filter {
	get := func(name string) string { return strings.TrimSpace(q.Get(name)) }
	return filter{get("q"), get("status"), q.Get("product"), q.Get("customer"), get("expires"), get("sort")}
}

// query returns the filter as a query, without empty values.
func (f filter) query() url.Values {
	q := url.Values{}
	for name, value := range map[string]string{"q": f.Search, "status": f.Status, "product": f.Product, "customer": f.Customer, "expires": f.Expires, "sort": f.Sort} {
		if value != "" {
			q.Set(name, value)
		}
	}
	return q
}

// params returns the list parameters for the filter.
func (f filter) params(now time.Time) license.ListParams {
	p := license.ListParams{Search: f.Search, Status: license.Status(f.Status), ProductID: f.Product, CustomerID: f.Customer}
	for _, w := range expiryWindows {
		if w.value == f.Expires {
			// Whole minutes, so that the pages of one list use the same window.
			now = now.Truncate(time.Minute)
			p.ExpiresAfter, p.ExpiresBefore = now.Add(w.from), now.Add(w.until)
		}
	}
	order := f.order()
	p.NewestFirst = order == sortNewest || order == sortLatest || order == startsLatest
	if (order == sortSoonest || order == sortLatest) && p.ExpiresAfter.IsZero() {
		p.ExpiresAfter = time.UnixMilli(0).UTC() // a list filtered by expiry is sorted by it
	}
	return p
}

// licenseList is the body of the license list.
type licenseList struct {
	Filter   filter
	Filtered bool // the filter is more than a sort
	Tabs     []listTab
	Sorts    []option
	Expiries []option
	Rows     []licenseRow
	Count    string // the number of matches
	Every    string // the number of matches, if there are more than on this page
	Partial  bool   // licenses without an expiry are left out
	Next     string // the query of the next page
	Previous string // the query of the previous page
	First    string // the query of the first page, if this is another page
	CSV      string
	Problem  string
	Reached  string // how far the search has come, if it did not reach its end
}

type licenseRow struct {
	License license.License
	Expires *moment
	Seats   seatMeter
}

// CustomerLink and ProductLink are references from dashboard/.
func (r licenseRow) CustomerLink() string { return customers.namePath(r.License.CustomerID) }
func (r licenseRow) ProductLink() string  { return products.namePath(r.License.ProductID) }

func showLicenses(v *visit) error {
	q := v.r.URL.Query()
	f := readFilter(q)
	list := licenseList{Filter: f, Filtered: f != filter{Sort: f.Sort}, CSV: "licenses.csv?" + f.query().Encode()}
	for _, s := range f.sorts() {
		list.Sorts = append(list.Sorts, option{Value: s, Label: sortLabels[s], Chosen: f.order() == s})
	}
	for _, w := range expiryWindows {
		list.Expiries = append(list.Expiries, option{Value: w.value, Label: sentenceCase(w.label), Chosen: f.Expires == w.value})
	}
	p := f.params(v.h.opts.Now())
	p.Limit, p.Cursor = 50, q.Get("cursor")
	if from, until, ok := readWindow(q); ok && f.Expires != "" {
		p.ExpiresAfter, p.ExpiresBefore = from, until
	}
	status := http.StatusOK
	result, err := v.find(p)
	if invalid, ok := errors.AsType[*license.InvalidError](err); ok {
		status, list.Problem = http.StatusBadRequest, "This page of the list does not exist. Start again from the first page."
		if x := invalid.Fields[0]; x.Field != "cursor" {
			list.Problem = sentence(x.Field + " " + x.Detail)
		}
	} else if err != nil {
		return err
	}
	if list.Rows, err = v.licenseRows(result.Data); err != nil {
		return err
	}
	list.Partial = f.omitsPerpetual()
	var counts *license.Counts
	if list.Problem == "" {
		c, err := v.count(filter{Search: f.Search, Product: f.Product, Customer: f.Customer}.params(v.h.opts.Now()))
		if err != nil {
			return err
		}
		counts = &c
	}
	list.Tabs = f.tabs(counts)
	if list.Problem == "" {
		n, err := v.matches(p, result)
		if err != nil {
			return err
		}
		for i, tab := range list.Tabs {
			if tab.Current && !list.Partial {
				list.Tabs[i].Count = n.number()
			}
		}
		list.Count = n.text("license")
		if list.Filtered {
			list.Count = n.text("matching license")
		}
		if result.HasMore || p.Cursor != "" {
			list.Every = n.number()
		}
	}
	if p.Cursor != "" {
		list.First = "?" + f.query().Encode()
	}
	list.Reached = reached(p, result)
	pageQuery := func(cursor string) string {
		if cursor == "" {
			return ""
		}
		to := f.query()
		to.Set("cursor", cursor)
		if f.Expires != "" {
			to.Set("window", windowOf(p))
		}
		return "?" + to.Encode()
	}
	list.Next, list.Previous = pageQuery(result.NextCursor), pageQuery(result.PrevCursor)
	return v.render(status, "licenses", page{Title: "Licenses", Section: "licenses", Body: list})
}

// licenseRows returns the rows of a list. It reads the seat counts of all rows at
// once.
func (v *visit) licenseRows(list []license.License) (rows []licenseRow, err error) {
	ids := make([]string, len(list))
	for i, l := range list {
		ids[i] = l.ID
	}
	seats, err := v.licenses.Internal().SeatCounts(v.r.Context(), ids)
	if err != nil {
		return nil, err
	}
	for _, l := range list {
		n, stored := seats[l.ID]
		rows = append(rows, licenseRow{l, v.momentOf(l.ExpiresAt), listedSeats(l, n, stored)})
	}
	return rows, nil
}

// windowOf returns the expiry window of a list for the query of its later pages.
func windowOf(p license.ListParams) string {
	return strconv.FormatInt(p.ExpiresAfter.UnixMilli(), 36) + "-" + strconv.FormatInt(p.ExpiresBefore.UnixMilli(), 36)
}

// readWindow reads the expiry window from the query of a later page. All pages
// of a list use the window of its first page.
func readWindow(q url.Values) (from, until time.Time, ok bool) {
	a, b, ok := strings.Cut(q.Get("window"), "-")
	if !ok || q.Get("cursor") == "" {
		return from, until, false
	}
	x, err1 := strconv.ParseInt(a, 36, 64)
	y, err2 := strconv.ParseInt(b, 36, 64)
	return time.UnixMilli(x).UTC(), time.UnixMilli(y).UTC(), err1 == nil && err2 == nil
}

func sentenceCase(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
