package dashboard

import (
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/kit"
)

// Filter has the filters of the license list. All of them are in the query, so
// that a view can be bookmarked and shared.
type Filter struct {
	Search, Key, Status, Product, Customer, Plan, Expires, Only, Sort string
}

// conditions are the options of the filter by what no index knows; see ListWhere of the
// license service.
var conditions = []struct{ value, label, text string }{
	{"due", "Ends soon", "an end, also of updates or of a purchase, in the next 30 days"},
	{nearLimit, "Near the limit", "at least 80 % of the seats or of a usage limit used"},
	{"updates_ended", "Updates have ended", "updates that have ended"},
	{"updates_end_soon", "Updates end in 30 days", "updates that end in the next 30 days"},
}

const nearLimit = "near_limit"

// conditionText returns a condition in words, or "".
func conditionText(value string) string {
	for _, c := range conditions {
		if c.value == value {
			return c.text
		}
	}
	return ""
}

// scans reports whether licenses must be read to find those of the filter.
func (f Filter) scans() bool { return f.Plan != "" || f.Only != "" }

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

func readFilter(q url.Values) Filter {
	get := func(name string) string { return strings.TrimSpace(q.Get(name)) }
	return Filter{get("q"), get("key"), get("status"), q.Get("product"), q.Get("customer"), q.Get("plan"), get("expires"), get("only"), get("sort")}
}

// query returns the filter as a query, without empty values.
func (f Filter) query() url.Values {
	return kit.QueryOf(map[string]string{
		"q": f.Search, "key": f.Key, "status": f.Status, "product": f.Product, "customer": f.Customer, "plan": f.Plan, "expires": f.Expires, "only": f.Only, "sort": f.Sort,
	})
}

// params returns the list parameters for the filter.
func (f Filter) params(now time.Time) api.ListLicensesParams {
	p := api.ListLicensesParams{Search: f.Search, KeyPart: f.Key, Status: api.LicenseStatus(f.Status), ProductID: f.Product, CustomerID: f.Customer}
	p.ExpiresAfter, p.ExpiresBefore, _ = expiryWindow(f.Expires, now)
	order := f.order()
	p.NewestFirst = order == sortNewest || order == sortLatest || order == startsLatest
	if (order == sortSoonest || order == sortLatest) && p.ExpiresAfter.IsZero() {
		p.ExpiresAfter = time.UnixMilli(0).UTC() // a list filtered by expiry is sorted by it
	}
	return p
}

// The orders of the list.
const (
	sortNewest   = "newest"
	sortOldest   = "oldest"
	sortSoonest  = "soonest"
	sortLatest   = "latest"
	startsFirst  = "starts-first"
	startsLatest = "starts-latest"
)

var sortLabels = map[string]string{
	sortNewest: "Newest first", sortOldest: "Oldest first", sortSoonest: "Expiry, earliest first", sortLatest: "Expiry, latest first",
	startsFirst: "Start, earliest first", startsLatest: "Start, latest first",
}

// sorts returns the orders that the license service has for the filter, the
// default first.
func (f Filter) sorts() []string {
	switch {
	case f.Search != "" || f.Key != "" || f.Customer != "" || f.Only == nearLimit:
		return []string{sortNewest, sortOldest}
	case f.Status == string(api.LicenseExpired) || f.Expires == "past30d":
		return []string{sortLatest, sortSoonest}
	case f.Expires != "":
		return []string{sortSoonest, sortLatest}
	case f.Status == string(api.LicenseScheduled):
		return []string{startsFirst, startsLatest}
	}
	return []string{sortNewest, sortOldest, sortSoonest, sortLatest}
}

// order returns the order of the list: the selected one if the filter allows it.
func (f Filter) order() string {
	if sorts := f.sorts(); !slices.Contains(sorts, f.Sort) {
		return sorts[0]
	}
	return f.Sort
}

// describe returns the licenses that match the filter in words.
func (f Filter) describe() string {
	var with []string
	for _, x := range []struct{ value, text string }{
		{f.Search, "a match for “" + f.Search + "”"},
		{f.Key, "a key that contains “" + f.Key + "”"},
		{f.Status, "the status " + f.Status},
		{f.Product, "the product “" + f.Product + "”"},
		{f.Customer, "the customer “" + f.Customer + "”"},
		{f.Plan, "the plan “" + f.Plan + "”"},
		{f.Only, conditionText(f.Only)},
		{f.Expires, "an expiry " + windowLabel(f.Expires)},
	} {
		if x.value != "" {
			with = append(with, x.text)
		}
	}
	if f.omitsPerpetual() {
		with = append(with, "an expiry")
	}
	last := len(with) - 1
	switch {
	case last < 0:
		return "all licenses"
	case last > 0:
		with[last-1] += " and " + with[last]
		with = with[:last]
	}
	return "all licenses with " + strings.Join(with, ", ")
}

// omitsPerpetual reports whether the order of the list leaves out licenses
// without an expiry, which the filter would not.
func (f Filter) omitsPerpetual() bool {
	order := f.order()
	return (order == sortSoonest || order == sortLatest) && f.Expires == "" && f.Status != string(api.LicenseExpired)
}
