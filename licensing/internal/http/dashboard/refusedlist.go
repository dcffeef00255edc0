package dashboard

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/kit"
)

// recentDays is how far back the overview looks for refusals.
const recentDays = 7

// refusedPerPage is the number of licenses on a page of refused licenses.
const refusedPerPage = 50

// refusedList is the body of the page with the licenses that were refused for one
// reason.
type refusedList struct {
	Days    int
	Open    bool // only licenses to which the reason still applies
	Other   string
	Periods []listTab
	Tabs    []listTab
	AtLeast bool // the numbers are minimums
	Rows    []refusedLicenseRow
	Usage   kit.Chart
	kit.Pager
}

// A refusedLicenseRow is a license with its refusals for the reason of the page.
type refusedLicenseRow struct {
	licenseRow
	refusalRow
	Call *refusedRow // the last one; nil: it is not kept
}

// refusedPath returns the list of the licenses that were refused for a reason, as a
// reference from dashboard/.
func refusedPath(code api.VerdictCode, days int, open bool) string {
	return "refusals?" + refusedQuery(code, days, open).Encode()
}

func refusedQuery(code api.VerdictCode, days int, open bool) url.Values {
	q := url.Values{"reason": {string(code)}, "days": {strconv.Itoa(min(days, 90))}}
	if open {
		q.Set("open", "1")
	}
	return q
}

// refusalPeriods are the periods of the page, in days.
var refusalPeriods = []int{recentDays, 30, 90}

func showRefusedLicenses(v *kit.Visit) error {
	ctx, q, rules := v.R.Context(), v.R.URL.Query(), inner.Of(v.Licenses).Refused()
	body := refusedList{Days: recentDays, Open: q.Get("open") != ""}
	if days, err := strconv.Atoi(q.Get("days")); err == nil && slices.Contains(refusalPeriods, days) {
		body.Days = days
	}
	code, cursor := api.VerdictCode(q.Get("reason")), q.Get("cursor")
	groups, more, err1 := rules.RefusalGroups(ctx, body.Days)
	figures, _, err2 := readUsage(v)
	if err := cmp.Or(err1, err2); err != nil {
		return err
	}
	body.Usage = kit.NewChart(figures)
	if body.AtLeast = more; code == "" && len(groups) > 0 {
		code = groups[0].Code
	}
	addTab := func(c api.VerdictCode, n kit.MatchCount) {
		body.Tabs = append(body.Tabs, listTab{Label: refusalReason(c), Query: refusedPath(c, body.Days, body.Open), Count: n.Number(), Current: c == code})
	}
	for _, g := range groups {
		n := g.Licenses
		if body.Open {
			n = g.Open
		}
		addTab(g.Code, kit.MatchCount{N: int64(n), More: more})
	}
	if code != "" && !slices.ContainsFunc(body.Tabs, func(t listTab) bool { return t.Current }) {
		addTab(code, kit.MatchCount{})
	}
	for _, days := range refusalPeriods {
		body.Periods = append(body.Periods, listTab{Label: kit.Count(days, "day"), Query: refusedPath(code, days, body.Open), Current: days == body.Days})
	}
	body.Other = refusedPath(code, body.Days, !body.Open)
	if code != "" {
		found, err := rules.RefusedLicenses(ctx, rules.RefusedParams(code, body.Days, body.Open, cursor, refusedPerPage))
		if err != nil {
			return err
		}
		body.Pager = v.Pager(refusedQuery(code, body.Days, body.Open), "cursor", found.NextCursor)
		for _, l := range found.Data {
			for _, r := range l.Refusals {
				if r.Code == code {
					body.Rows = append(body.Rows, refusedLicenseRowOf(v, l.License, l.Seats.N, r, l.Applies(code)))
				}
			}
		}
	}
	return v.Render(http.StatusOK, "refused", kit.Page{Title: "Refusals", Section: "refusals", Body: body})
}

// refusedLicenseRowOf returns the row of a license with a number of used seats.
func refusedLicenseRowOf(v *kit.Visit, l api.License, used int, r api.Refusal, applies bool) refusedLicenseRow {
	seats := usedOf(int64(used), l.MaxActivations)
	row := refusedLicenseRow{
		licenseRow: licenseRow{License: l, Seats: seats},
		refusalRow: refusalRowOf(v, r, l, applies, "All seats are used: "+seats.Text),
	}
	if len(r.Recent) > 0 {
		row.Call = new(newRefusedRow(r.Recent[0], row.refusalRow, l))
	}
	return row
}
