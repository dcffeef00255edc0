package dashboard

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

// overview is the body of the overview page.
type overview struct {
	Total     string
	Licenses  int64
	Statuses  []statusCount
	Periods   []period
	Days      int // the current period
	Charts    []chart
	Refused   []refusedCount // top reasons, most frequent first
	Attention []attentionItem
	Expiring  []licenseRow // licenses that expire next
	Steps     []step       // setup steps; empty if each is done
	Open      int          // how many of them are not done
}

// A period is an option of the time that the charts cover.
type period struct {
	Days    int
	Current bool
	Path    string // as a reference from dashboard/
}

// periods are the options, in days.
var periods = []int{30, 90, 365}

// statusOrder is the order in which pages show the statuses.
var statusOrder = []license.Status{license.StatusActive, license.StatusScheduled, license.StatusExpired, license.StatusSuspended, license.StatusRevoked}

// statusCount is the number of licenses with a status.
type statusCount struct {
	Status license.Status
	N      string
	Count  int64
}

// None reports whether no license has the status.
func (c statusCount) None() bool { return c.Count == 0 }

// A refusedCount is the number of refusals for one reason.
type refusedCount struct {
	Reason string
	N      string
	Link   string // the licenses, as a reference from dashboard/; empty: none
	Width  string // of the bar
	count  int64
}

func showOverview(v *visit) error {
	ctx := v.r.Context()
	o, err := v.licenses.Overview(ctx)
	if err != nil {
		return err
	}
	body := overview{Total: thousands(o.Total), Licenses: o.Total}
	empty := o.Total == 0
	if empty || v.admin() {
		if body.Steps, err = v.steps(o.Total); err != nil {
			return err
		}
		for _, s := range body.Steps {
			if !s.Done {
				body.Open++
			}
		}
	}
	if empty {
		return v.render(http.StatusOK, "overview", page{Title: "Overview", Section: "overview", Body: body})
	}
	for _, s := range statusOrder {
		body.Statuses = append(body.Statuses, statusCount{s, thousands(o.ByStatus[s]), o.ByStatus[s]})
	}
	body.Days = 90
	for _, days := range periods {
		if v.r.URL.Query().Get("days") == strconv.Itoa(days) {
			body.Days = days
		}
	}
	for _, days := range periods {
		body.Periods = append(body.Periods, period{days, days == body.Days, "?days=" + strconv.Itoa(days)})
	}
	usage, err := inner.Of(v.licenses).Usage(ctx)
	if err != nil {
		return err
	}
	var validated, denied []license.Figure
	refused := map[license.VerdictCode]int64{}
	for _, day := range usage[len(usage)-body.Days:] {
		validated = append(validated, license.Figure{From: day.From, N: day.Validations})
		all := license.Figure{From: day.From}
		for code, n := range day.Refused {
			refused[code] += n
			all.N += n
		}
		denied = append(denied, all)
	}
	body.Charts, body.Refused = overviewCharts(o, validated, denied, body.Days), topRefusals(refused, body.Days)
	soon, err := v.licenses.List(ctx, license.ListParams{Status: license.StatusActive, ExpiresAfter: o.At, ExpiresBefore: o.At.Add(license.ExpiringSoon), Limit: 5})
	if err != nil {
		return err
	}
	for _, l := range soon.Data {
		body.Expiring = append(body.Expiring, licenseRow{License: l, Expires: v.momentOf(l.ExpiresAt)})
	}
	if body.Attention, err = v.attention(o); err != nil {
		return err
	}
	return v.render(http.StatusOK, "overview", page{Title: "Overview", Section: "overview", Body: body})
}

// overviewCharts returns the charts of a number of days: what was validated and
// issued in the last days, and what expires in the next.
func overviewCharts(o license.Overview, validated, refused []license.Figure, days int) []chart {
	issued, each := o.Issued[len(o.Issued)-days:], 1
	if days == 365 {
		validated, refused, issued, each = weekly(validated), weekly(refused), weekly(issued), 7
	}
	weeks := (days + 6) / 7
	events := func(eventType string) func(first, last string) string {
		return func(first, last string) string {
			f := auditFilter{Type: eventType, From: first, To: last}
			return "audit?" + f.query().Encode()
		}
	}
	expiring := func(first, last string) string {
		return "licenses?" + filter{Status: string(license.StatusActive), Expires: first + rangeMark + last}.query().Encode()
	}
	charts := []chart{
		newChart("validations", fmt.Sprintf("Validations in the last %d days", days), "Validations", each, validated, refused, events("")),
		newChart("issued", fmt.Sprintf("Issued in the last %d days", days), "Licenses", each, issued, nil, events("license.created")),
		newChart("expiring", fmt.Sprintf("Expiring in the next %d weeks", weeks), "Licenses", 7, o.Ending[:weeks], nil, expiring),
	}
	charts[0].Link, charts[0].LinkText = "refusals", "View refusals"
	charts[1].Summary += " Counted by the time in the license ID."
	charts[1].Link, charts[1].LinkText = "licenses?sort=newest", "View the newest licenses"
	charts[2].Link = fmt.Sprintf("licenses?status=active&expires=%dd", days)
	charts[2].LinkText = fmt.Sprintf("View licenses that expire in the next %d days", days)
	return charts
}

// topRefusals returns the most frequent reasons of refusals, at most six.
func topRefusals(counts map[license.VerdictCode]int64, days int) []refusedCount {
	var list []refusedCount
	for code, n := range counts {
		r := refusedCount{Reason: refusalReason(code), N: thousands(n), count: n}
		if code != license.VerdictNotFound { // no license
			r.Link = refusedPath(code, days, false)
		}
		list = append(list, r)
	}
	slices.SortFunc(list, func(a, b refusedCount) int {
		return cmp.Or(cmp.Compare(b.count, a.count), cmp.Compare(a.Reason, b.Reason))
	})
	list = list[:min(len(list), 6)]
	for i := range list {
		list[i].Width = percent(max(1, 100*float64(list[i].count)/float64(list[0].count)))
	}
	return list
}
