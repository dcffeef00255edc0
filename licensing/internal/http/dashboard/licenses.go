package dashboard

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// filter has the filters of the license list. All of them are in the query, so
// that a view can be bookmarked and shared.
type filter struct {
	Search, Key, Status, Product, Customer, Expires, Sort string
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

// rangeMark is between the first and the last day of a filter by expiry, in UTC.
const rangeMark = ".."

// expiryWindow returns the window of a filter by expiry and its label, which is
// empty if there is no such filter.
func expiryWindow(value string, now time.Time) (from, until time.Time, label string) {
	for _, w := range expiryWindows {
		if w.value == value {
			// Whole minutes, so that the pages of one list use the same window.
			now = now.Truncate(time.Minute)
			return now.Add(w.from), now.Add(w.until), w.label
		}
	}
	first, last, _ := strings.Cut(value, rangeMark)
	from, err1 := time.Parse(time.DateOnly, first)
	until, err2 := time.Parse(time.DateOnly, last)
	if err1 != nil || err2 != nil || until.Before(from) {
		return time.Time{}, time.Time{}, ""
	}
	return from, until.AddDate(0, 0, 1), "from " + from.Format("2 Jan 2006") + " to " + until.Format("2 Jan 2006")
}

// windowLabel returns the label of a filter by expiry, or "".
func windowLabel(value string) string {
	_, _, label := expiryWindow(value, time.Time{})
	return label
}

func readFilter(q url.Values) filter {
	get := func(name string) string { return strings.TrimSpace(q.Get(name)) }
	return filter{get("q"), get("key"), get("status"), q.Get("product"), q.Get("customer"), get("expires"), get("sort")}
}

// query returns the filter as a query, without empty values.
func (f filter) query() url.Values {
	return queryOf(map[string]string{
		"q": f.Search, "key": f.Key, "status": f.Status, "product": f.Product, "customer": f.Customer, "expires": f.Expires, "sort": f.Sort,
	})
}

// params returns the list parameters for the filter.
func (f filter) params(now time.Time) api.ListLicensesParams {
	p := api.ListLicensesParams{Search: f.Search, KeyPart: f.Key, Status: api.LicenseStatus(f.Status), ProductID: f.Product, CustomerID: f.Customer}
	p.ExpiresAfter, p.ExpiresBefore, _ = expiryWindow(f.Expires, now)
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
	AtLeast  bool   // Count or a number on a tab is a minimum
	Every    string // the number of matches, if there are more than on this page
	Partial  bool   // licenses without an expiry are left out
	Next     string // the query of the next page
	Previous string // the query of the previous page
	First    string // the query of the first page, if this is another page
	CSV      string
	Problem  string
	Reached  string // how far the search has come, if it did not reach its end
	Continue string // the query that continues it

	Elsewhere elsewhere
}

type licenseRow struct {
	License api.License
	Seats   seatMeter
	Match   string // where a search has found the license, if not in its name
}

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
	if strings.Contains(f.Expires, rangeMark) {
		list.Expiries = append(list.Expiries, option{Value: f.Expires, Label: sentenceCase(windowLabel(f.Expires)), Chosen: true})
	}
	p := f.params(v.h.opts.Now())
	p.Limit, p.Cursor = 50, q.Get("cursor")
	if from, until, ok := readWindow(q); ok && f.Expires != "" {
		p.ExpiresAfter, p.ExpiresBefore = from, until
	}
	status := http.StatusOK
	result, err := v.licenses.List(v.r.Context(), p)
	if invalid, ok := errors.AsType[*api.InvalidError](err); ok {
		status, list.Problem = http.StatusBadRequest, "This page of the list does not exist. Start again from the first page."
		if x := invalid.Fields[0]; x.Field != "cursor" {
			list.Problem = sentence(x.Field + " " + x.Detail)
		}
	} else if err != nil {
		return err
	}
	if list.Rows, err = v.foundRows(result.Data, f.Search); err != nil {
		return err
	}
	if list.Problem == "" && f.Search != "" {
		if err := list.Elsewhere.addKeys(v, f, result); err != nil {
			return err
		}
		if only := (filter{Search: f.Search, Sort: f.Sort}); f == only && len(list.Rows) == 0 && p.Cursor == "" {
			if err := list.Elsewhere.addFingerprints(v, f.Search, ""); err != nil {
				return err
			}
		}
	}
	list.Partial = f.omitsPerpetual()
	list.Tabs = f.tabs(nil)
	if list.Problem == "" {
		if err := v.countMatches(&list, p, result); err != nil {
			return err
		}
	}
	if p.Cursor != "" {
		list.First = "?" + f.query().Encode()
	}
	back := q.Get("back") != "" && result.PrevCursor != "" // otherwise there was none before it, and this is the first page
	pageQuery := func(cursor string, back bool) string {
		if cursor == "" {
			return ""
		}
		to := f.query()
		to.Set("cursor", cursor)
		if back {
			to.Set("back", "1")
		}
		if f.Expires != "" {
			to.Set("window", windowOf(p))
		}
		return "?" + to.Encode()
	}
	list.Next, list.Previous = pageQuery(result.NextCursor, false), pageQuery(result.PrevCursor, true)
	list.Reached, list.Continue = reached(result, p.NewestFirst != back), list.Next
	if back {
		list.Continue = list.Previous
	}
	return v.render(status, "licenses", page{Title: "Licenses", Section: "licenses", Body: list})
}

// licenseRows returns the rows of a list. It reads the seat counts of all rows
// together.
func (v *visit) licenseRows(list []api.License) (rows []licenseRow, err error) {
	ids := make([]string, len(list))
	for i, l := range list {
		ids[i] = l.ID
	}
	seats, err := inner.Of(v.licenses).Find().SeatCounts(v.r.Context(), ids)
	if err != nil {
		return nil, err
	}
	for _, l := range list {
		n := seats[l.ID]
		rows = append(rows, licenseRow{License: l, Seats: listedSeats(l, n.N, n.AtLeast)})
	}
	return rows, nil
}

// fieldLabels name the fields of a license in which a search can find it.
var fieldLabels = map[string]string{"customer_id": "customer", "product_id": "product"}

// foundRows returns the rows of a page that a search has found, those found by their
// name first. Without a search text, the page keeps its order.
func (v *visit) foundRows(list []api.License, search string) ([]licenseRow, error) {
	inner.Of(v.licenses).Find().NameFirst(list, search)
	rows, err := v.licenseRows(list)
	for i, l := range list {
		if err != nil {
			break
		}
		if name, value := inner.Of(v.licenses).Find().Match(l, search); name != "" {
			rows[i].Match = cmp.Or(fieldLabels[name], name) + ": " + value
		}
	}
	return rows, err
}

// windowOf returns the expiry window of a list for the query of its later pages.
func windowOf(p api.ListLicensesParams) string {
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
