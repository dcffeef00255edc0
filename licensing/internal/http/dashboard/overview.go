package dashboard

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// overview is the body of the overview page.
type overview struct {
	Total     string
	Licenses  int64
	Statuses  []statusCount
	Periods   []period
	Days      int // the current period
	Charts    []chart
	Rankings  []ranking
	Attention []attentionItem
	Expiring  []api.License // that expire next
	Steps     []step        // setup steps; empty if each is done
	Open      int           // how many of them are not done
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
var statusOrder = []api.LicenseStatus{api.LicenseActive, api.LicenseScheduled, api.LicenseExpired, api.LicenseSuspended, api.LicenseRevoked}

// statusCount is the number of licenses with a status.
type statusCount struct {
	Status api.LicenseStatus
	N      string
	Count  int64
}

// None reports whether no license has the status.
func (c statusCount) None() bool { return c.Count == 0 }

// A ranking is a list of the largest numbers.
type ranking struct {
	ID, Title, Text, None string // None is the text of an empty list
	Rows                  []ranked
}

type ranked struct {
	Label, N string
	Link     string // as a reference from dashboard/; empty: none
	Width    string // of the bar
	n        int64
}

// largest returns the largest numbers, at most six.
func largest(list []ranked) []ranked {
	slices.SortFunc(list, func(a, b ranked) int { return cmp.Or(cmp.Compare(b.n, a.n), cmp.Compare(a.Label, b.Label)) })
	list = list[:min(len(list), 6)]
	for i := range list {
		list[i].Width = percent(max(1, 100*float64(list[i].n)/float64(max(1, list[0].n))))
	}
	return list
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
	if body.Attention, err = v.attention(o); err != nil {
		return err
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
	usage, err := inner.Of(v.licenses).Refused().Usage(ctx)
	if err != nil {
		return err
	}
	var validated, denied []api.Figure
	refused := map[api.VerdictCode]int64{}
	for _, day := range usage[len(usage)-body.Days:] {
		validated = append(validated, api.Figure{From: day.From, N: day.Validations})
		all := api.Figure{From: day.From}
		for code, n := range day.Refused {
			refused[code] += n
			all.N += n
		}
		denied = append(denied, all)
	}
	body.Charts = overviewCharts(o, validated, denied, body.Days)
	seats, err := v.rankSeats()
	if err != nil {
		return err
	}
	body.Rankings = []ranking{rankRefusals(refused, body.Days), seats}
	soon, err := v.licenses.List(ctx, api.ListLicensesParams{Status: api.LicenseActive, ExpiresAfter: o.At, ExpiresBefore: o.At.Add(api.ExpiringSoon), Limit: 5})
	if err != nil {
		return err
	}
	body.Expiring = soon.Data
	return v.render(http.StatusOK, "overview", page{Title: "Overview", Section: "overview", Body: body})
}

// overviewCharts returns the charts of a number of days: what was validated and
// issued in the last days, and what expires in the next.
func overviewCharts(o api.Overview, validated, refused []api.Figure, days int) []chart {
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
		return "licenses?" + filter{Status: string(api.LicenseActive), Expires: first + rangeMark + last}.query().Encode()
	}
	charts := []chart{
		newChart("validations", fmt.Sprintf("Validations in the last %d days", days), "Validations", each, validated, refused, nil),
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

// rankRefusals ranks the reasons of refusals.
func rankRefusals(counts map[api.VerdictCode]int64, days int) ranking {
	r := ranking{
		ID: "refused", Title: "Top refusal reasons", Text: fmt.Sprintf("Validations and activations that were refused in the last %d days.", days),
		None: fmt.Sprintf("No request was refused in the last %d days.", days),
	}
	for code, n := range counts {
		row := ranked{Label: refusalReason(code), N: thousands(n), n: n}
		if code != api.VerdictNotFound { // no license
			row.Link = refusedPath(code, days, false)
		}
		r.Rows = append(r.Rows, row)
	}
	r.Rows = largest(r.Rows)
	return r
}

// rankSeats ranks the products by their used seats.
func (v *visit) rankSeats() (ranking, error) {
	use, err := inner.Of(v.licenses).Find().SeatUse(v.r.Context())
	r := ranking{ID: "seats", Title: "Seats used by product", Text: "Activations, including leases that have ended since and whose seats are not needed yet.", None: "No license is activated."}
	if use.AtLeast {
		r.Text += " A number with + is a minimum: there are too many licenses to count."
	}
	for product, n := range use.ByProduct {
		r.Rows = append(r.Rows, ranked{Label: product, N: matchCount{n, use.AtLeast}.number(), Link: products.namePath(product), n: n})
	}
	r.Rows = largest(r.Rows)
	return r, err
}
