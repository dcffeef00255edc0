package dashboard

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
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
	pager
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

func showRefusedLicenses(v *visit) error {
	ctx, q, rules := v.r.Context(), v.r.URL.Query(), inner.Of(v.licenses).Refused()
	body := refusedList{Days: recentDays, Open: q.Get("open") != ""}
	if days, err := strconv.Atoi(q.Get("days")); err == nil && slices.Contains(refusalPeriods, days) {
		body.Days = days
	}
	code, cursor := api.VerdictCode(q.Get("reason")), q.Get("cursor")
	groups, more, err := rules.RefusalGroups(ctx, body.Days)
	if err != nil {
		return err
	}
	if body.AtLeast = more; code == "" && len(groups) > 0 {
		code = groups[0].Code
	}
	addTab := func(c api.VerdictCode, n matchCount) {
		body.Tabs = append(body.Tabs, listTab{Label: refusalReason(c), Query: refusedPath(c, body.Days, body.Open), Count: n.number(), Current: c == code})
	}
	for _, g := range groups {
		n := g.Licenses
		if body.Open {
			n = g.Open
		}
		addTab(g.Code, matchCount{int64(n), more})
	}
	if code != "" && !slices.ContainsFunc(body.Tabs, func(t listTab) bool { return t.Current }) {
		addTab(code, matchCount{})
	}
	for _, days := range refusalPeriods {
		body.Periods = append(body.Periods, listTab{Label: count(days, "day"), Query: refusedPath(code, days, body.Open), Current: days == body.Days})
	}
	body.Other = refusedPath(code, body.Days, !body.Open)
	if code != "" {
		found, err := rules.RefusedLicenses(ctx, rules.RefusedParams(code, body.Days, body.Open, cursor, refusedPerPage))
		if err != nil {
			return err
		}
		body.pager = v.pager(refusedQuery(code, body.Days, body.Open), "cursor", found.NextCursor)
		for _, l := range found.Data {
			for _, r := range l.Refusals {
				if r.Code == code {
					body.Rows = append(body.Rows, v.refusedLicenseRow(l.License, l.Seats.N, r, l.Applies(code)))
				}
			}
		}
	}
	return v.render(http.StatusOK, "refused", page{Title: "Refusals", Section: "refusals", Body: body})
}

// refusedLicenseRow returns the row of a license with a number of used seats.
func (v *visit) refusedLicenseRow(l api.License, used int, r api.Refusal, applies bool) refusedLicenseRow {
	seats := usedOf(int64(used), l.MaxActivations)
	row := refusedLicenseRow{
		licenseRow: licenseRow{License: l, Seats: seats},
		refusalRow: v.refusalRow(r, l, applies, "All seats are used: "+seats.Text),
	}
	if len(r.Recent) > 0 {
		row.Call = new(newRefusedRow(r.Recent[0], row.refusalRow, l))
	}
	return row
}
