package dashboard

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/kit"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/people"
)

// overview is the body of the overview page.
type overview struct {
	*salesPage // nil: there are no licenses
	Licenses   int64
	AsOf       string // when licenses and seats were counted; empty: after the last change
	Statuses   []statusCount
	Rankings   []ranking
	Attention  []attentionItem
	Steps      []people.Step // setup steps; empty if each is done
}

// statusOrder is the order in which pages show the statuses.
var statusOrder = []api.LicenseStatus{api.LicenseActive, api.LicenseScheduled, api.LicenseExpired, api.LicenseSuspended, api.LicenseRevoked}

// statusCount is the number of licenses with a status.
type statusCount struct {
	Status api.LicenseStatus
	N      int64
}

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
		list[i].Width = kit.Percent(max(1, 100*float64(list[i].n)/float64(max(1, list[0].n))))
	}
	return list
}

func showOverview(v *kit.Visit) error {
	counts, held, err := inner.Of(v.Licenses).Find().Overview(v.R.Context())
	if err != nil {
		return err
	}
	o := counts.Licenses
	body := overview{Licenses: o.Total}
	empty, office := o.Total == 0, v.Opts.Office()
	if empty && office && v.Admin() { // its own page has the steps
		return v.Redirect("office")
	}
	if held {
		body.AsOf = "As of " + o.At.In(v.Zone()).Format("15:04") + "."
	}
	if !office && (empty || v.Admin()) {
		if body.Steps, err = people.Steps(v, o.Total); err != nil {
			return err
		}
	}
	if body.Attention, err = attention(v); err != nil {
		return err
	}
	if empty {
		return v.Render(http.StatusOK, "overview", kit.Page{Title: "Overview", Section: "overview", Body: body})
	}
	body.Statuses = kit.Each(statusOrder, func(s api.LicenseStatus) statusCount { return statusCount{s, o.ByStatus[s]} })
	var sales *salesPage
	var err1 error
	if !office {
		sales, err1 = readSales(v, overviewRows)
	}
	_, refused, err2 := readUsage(v)
	if err := cmp.Or(err1, err2); err != nil {
		return err
	}
	body.salesPage = sales
	body.Rankings = []ranking{rankRefusals(refused, usageDays), rankSeats(v, counts.Seats.ByProduct, counts.Seats.AtLeast, body.AsOf)}
	return v.Render(http.StatusOK, "overview", kit.Page{Title: "Overview", Section: "overview", Body: body})
}

// overviewRows is how many licenses each list of the overview has.
const overviewRows = 5

// rankRefusals ranks the reasons of refusals.
func rankRefusals(counts map[api.VerdictCode]int64, days int) ranking {
	r := ranking{
		ID: "refused", Title: "Top refusal reasons", Text: fmt.Sprintf("Validations and activations that were refused in the last %d days.", days),
		None: fmt.Sprintf("No request was refused in the last %d days.", days),
	}
	for code, n := range counts {
		row := ranked{Label: refusalReason(code), N: kit.Thousands(n), n: n}
		if code != api.VerdictNotFound { // no license
			row.Link = refusedPath(code, days, false)
		}
		r.Rows = append(r.Rows, row)
	}
	r.Rows = largest(r.Rows)
	return r
}

// rankSeats ranks the products by their used seats.
func rankSeats(v *kit.Visit, byProduct map[string]int64, atLeast bool, asOf string) ranking {
	r := ranking{ID: "seats", Title: "Seats used by product", Text: "Activations, including seats that may be freed as soon as another program needs them.", None: "No license is activated."}
	if asOf != "" {
		r.Text += " " + asOf
	}
	if atLeast {
		r.Text += " A number with + is a minimum: there are too many licenses to count."
	}
	for product, n := range byProduct {
		r.Rows = append(r.Rows, ranked{Label: inner.Of(v.Licenses).Call().Opts.ProductName(product), N: kit.MatchCount{N: n, More: atLeast}.Number(), Link: Products.namePath(product), n: n})
	}
	r.Rows = largest(r.Rows)
	return r
}
