package dashboard

import (
	"math"
	"strings"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/kit"
)

// A listTab is a link to the licenses with one status.
type listTab struct {
	Label, Query string
	Count        string // empty if it is not known
	Current      bool
	n            kit.MatchCount
}

// expiringFilter is the filter of the tab with licenses that expire soon.
const expiringFilter = "30d"

// tabs returns the status tabs of the list. They keep the other filters, whose licenses are
// counted; nil: their numbers are not known.
func (f Filter) tabs(counts *api.Counts) (tabs []listTab) {
	add := func(label, status, expires string, n func(*api.Counts) int64) {
		to := Filter{Search: f.Search, Key: f.Key, Product: f.Product, Customer: f.Customer, Plan: f.Plan, Only: f.Only, Status: status, Expires: expires}
		tab := listTab{Label: label, Query: "?" + to.query().Encode(), Current: f.Status == status && f.Expires == expires}
		if counts != nil {
			if tab.n = (kit.MatchCount{N: n(counts), More: counts.AtLeast}); tab.n.N > 0 || !tab.n.More {
				tab.Count = tab.n.Number()
			}
		}
		tabs = append(tabs, tab)
	}
	byStatus := func(s api.LicenseStatus) {
		add(kit.SentenceCase(string(s)), string(s), "", func(c *api.Counts) int64 { return c.ByStatus[s] })
	}
	add("All", "", "", func(c *api.Counts) int64 { return c.Total })
	byStatus(api.LicenseActive)
	add("Expiring", string(api.LicenseActive), expiringFilter, func(c *api.Counts) int64 { return c.Expiring })
	for _, s := range []api.LicenseStatus{api.LicenseScheduled, api.LicenseExpired, api.LicenseSuspended, api.LicenseRevoked} {
		byStatus(s)
	}
	return tabs
}

// A seatMeter shows how much of a limit is used, such as the seats of a license.
type seatMeter struct {
	Text string // such as "3/5"
	N    string // what is used, such as "3"
	Note string // what the text leaves out
	Bar  bool   // the license has a maximum
	Used int    // in percent
	Full bool   // nothing is left
	Over bool   // more is used than the limit, such as one that was lowered
}

// usedOf returns the meter of a limit; nil: there is none.
func usedOf(n int64, limit *int64) seatMeter {
	if limit == nil {
		return seatMeter{Text: kit.Thousands(n), N: kit.Thousands(n)}
	}
	m := seatMeter{Text: kit.Thousands(n) + "/" + kit.Thousands(*limit), N: kit.Thousands(n), Bar: true, Full: n >= *limit, Over: n > *limit}
	switch {
	case m.Full:
		m.Used = 100
	case n > 0:
		m.Used = max(4, int(math.Round(float64(n)*100/float64(*limit))))
	}
	return m
}

// listedSeats returns the meter of a license from the number that SeatCounts of the
// license service returns. That is an upper bound if the license has leases, and a
// lower bound if atLeast is true.
func listedSeats(l api.License, n int, atLeast bool) seatMeter {
	m := usedOf(int64(n), l.MaxActivations)
	switch {
	case atLeast:
		m.Text, m.N = strings.Replace(m.Text, m.N, m.N+"+", 1), m.N+"+"
		m.Note = "At least: there are more activations than are counted"
	case l.LeaseSeconds != nil && n > 0:
		m.Text, m.N, m.Note, m.Over = "≤"+m.Text, "≤"+m.N, "At most: some of the seats may be free by now", false
	}
	return m
}
