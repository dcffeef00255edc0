package dashboard

import (
	"cmp"
	"fmt"
	"strconv"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/csvfile"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/audit"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/kit"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/sales"
	"github.com/seed-d8a106b4/licensekit/licensing/selling"
)

// A salesPage has what was sold in a period, and what a seller has to look at.
type salesPage struct {
	Tabs    []listTab
	Title   string // such as "Sales, 16 to 22 November 2026"
	Figures []salesFigure
	Series  series
	Plans   []salesLine
	ByHand  bool     // some plan has licenses by hand
	Trials  bool     // some plan has trials
	Notes   []string // what the numbers do not have
	Query   string   // of the period

	Due     []soonRow
	DueAll  string // their number, as the text of a link
	DueMore bool   // there may be more
	Near    []soonRow
	NearAll string
}

// A salesNumber is a number with a link to the events that it counts; empty: none.
type salesNumber struct{ N, Link string }

type salesFigure struct {
	salesNumber
	Of    *salesNumber // "1 of 3"; nil: none
	Label string
	Note  string

	Spark string // the path of a line; empty: none
	Delta *delta // against the period before; nil: none
}

// A salesLine is what was sold of a plan.
type salesLine struct {
	Name, Path                                     string // no Path: there is no page of the plan
	InForce                                        string
	New, ByHand, Trials, Converted, Renewed, Ended salesNumber
	DueSoon                                        salesNumber
}

// A soonRow is something of a license that ends soon, or a license that is near a limit.
type soonRow struct {
	ID, Name, About string
	When            *kit.Moment
	Updates         bool   // they end, and the license does not
	Purchase        bool   // it ends, and the license does not
	State           string // of its purchase: "canceled", "refunded" or "paused"; empty: nothing is known
	Used            seatMeter
}

// salesPeriods are the labels of the periods, and what the period before is called.
var salesPeriods = map[string][2]string{
	"week": {"This week", "in the week before"}, "last-week": {"Last week", "in the week before"},
	"month": {"This month", "in the month before"}, "last-month": {"Last month", "in the month before"},
	"quarter": {"This quarter", "in the quarter before"}, "last-quarter": {"Last quarter", "in the quarter before"},
	"year": {"12 months", "in the 12 months before"},
}

// defaultPeriod is the one of which a seller asks on Monday.
const defaultPeriod = "last-week"

// salesReport returns what was sold in the period that the operator has chosen. Without a
// choice, it is the default one, or the current week until something was sold before.
func salesReport(v *kit.Visit) (rep sales.Report, err error) {
	chosen := v.R.URL.Query().Get("period")
	for _, name := range []string{cmp.Or(chosen, defaultPeriod), "week"} {
		period, before := sales.PeriodOf(name, v.Opts.Now())
		rep, err = inner.Of(v.Licenses).Sales().Report(v.R.Context(), period, before)
		if err != nil || chosen != "" || len(rep.Plans) > 0 {
			break
		}
	}
	return rep, err
}

// readSales returns what was sold, with the first few licenses of each list.
func readSales(v *kit.Visit, few int) (*salesPage, error) {
	rep, err1 := salesReport(v)
	period := rep.Period
	soon, err2 := inner.Of(v.Licenses).Sales().Soon(v.R.Context())
	plans, err3 := salesPlans(v)
	if err := cmp.Or(err1, err2, err3); err != nil {
		return nil, err
	}
	body := &salesPage{Title: "Sales, " + periodDays(period), Query: "?period=" + period.Name, Notes: salesNotes(v, rep)}
	for _, name := range sales.PeriodNames {
		body.Tabs = append(body.Tabs, listTab{Label: salesPeriods[name][0], Query: "?period=" + name, Current: name == period.Name})
	}
	body.ByHand, body.Trials = rep.Total.ByHand > 0, rep.Total.Trials+rep.Total.Converted > 0
	body.Series = seriesOf(rep)
	body.Figures = salesFigures(v, rep, body.Series)
	for _, p := range rep.Plans {
		number := func(n int64, kind sales.Kind) salesNumber {
			return salesNumberOf(v, n, kind, cmp.Or(p.Plan, sales.NoPlan), period)
		}
		line := salesLine{
			Name: planLabel(plans, p.Plan), InForce: kit.Thousands(p.InForce), DueSoon: dueNumber(v, soon, p.Plan),
			New: number(p.New, sales.New), ByHand: number(p.ByHand, sales.ByHand), Trials: number(p.Numbers.Trials, sales.Trial),
			Converted: number(p.Converted, sales.Converted), Renewed: number(p.Renewed, sales.Renewed), Ended: number(p.Ended, sales.Ended),
		}
		if plans[p.Plan].ID != "" {
			line.Path = kit.PlanPath(p.Plan)
		}
		body.Plans = append(body.Plans, line)
	}
	for _, d := range soon.Due[:min(len(soon.Due), few)] {
		row := soonRow{ID: d.License.ID, Name: d.License.Name, About: aboutSales(v, d.License, plans), When: v.EndOf(&d.At), Updates: d.Updates, Purchase: d.Purchase, State: string(d.State)}
		if d.State == api.PurchaseEnded {
			row.State = "canceled"
		}
		body.Due = append(body.Due, row)
	}
	body.DueMore = soon.DueMore
	body.DueAll = kit.MatchCount{N: int64(soon.DueN), More: soon.DueMore}.Number()
	for _, n := range soon.Near[:min(len(soon.Near), few)] {
		row := soonRow{ID: n.License.ID, Name: n.License.Name, About: aboutSales(v, n.License, plans), Used: usedOf(n.Used, &n.Limit)}
		if n.Meter != "" {
			row.About += " · " + n.Meter
		} else {
			row.Used = listedSeats(n.License, int(n.Used), false)
		}
		body.Near = append(body.Near, row)
	}
	body.NearAll = kit.MatchCount{N: int64(soon.NearN), More: soon.NearMore}.Text("license")
	return body, nil
}

// salesPlans returns the first 200 plans by ID.
func salesPlans(v *kit.Visit) (map[string]api.Plan, error) {
	page, err := selling.New(v.Licenses).ListPlans(v.R.Context(), api.ListPlansParams{Limit: 200})
	plans := make(map[string]api.Plan, len(page.Data))
	for _, p := range page.Data {
		plans[p.ID] = p
	}
	return plans, err
}

func planLabel(plans map[string]api.Plan, id string) string {
	return cmp.Or(plans[id].Name, id, "No plan")
}

// dueNumber returns how much of a plan is due, with the list of its licenses; no list has
// only those without a plan.
func dueNumber(v *kit.Visit, soon sales.Soon, plan string) salesNumber {
	n := soon.DueOf[plan]
	due := salesNumber{N: kit.MatchCount{N: int64(n), More: soon.DueMore}.Number()}
	if n > 0 && plan != "" {
		due.Link = v.Root + "licenses?" + Filter{Plan: plan, Only: "due"}.query().Encode()
	}
	return due
}

// aboutSales returns the mail, or else the customer, and the plan of a license.
func aboutSales(v *kit.Visit, l api.License, plans map[string]api.Plan) string {
	about := cmp.Or(v.Email(l), l.CustomerID)
	if l.PlanID != "" {
		about += " · " + planLabel(plans, l.PlanID)
	}
	return about
}

// salesNumberOf returns a number with the part of the audit log that lists its events; an
// empty plan is any.
func salesNumberOf(v *kit.Visit, n int64, kind sales.Kind, plan string, p sales.Period) salesNumber {
	if n == 0 {
		return salesNumber{N: "0"}
	}
	f := audit.AuditFilter{Type: audit.SalesPrefix + string(kind), Plan: plan, From: p.From.Format(time.DateOnly), To: p.Last().Format(time.DateOnly)}
	return salesNumber{kit.Thousands(n), v.Root + "audit?" + f.Query().Encode()}
}

// salesFigures returns the five figures of a report, with the lines of its series.
func salesFigures(v *kit.Visit, rep sales.Report, s series) []salesFigure {
	than := salesPeriods[rep.Period.Name][1]
	before := func(n int64) string { return kit.Thousands(n) + " " + than }
	total := func(n int64, kind sales.Kind) salesNumber { return salesNumberOf(v, n, kind, "", rep.Period) }
	t := rep.Total
	newNote := before(rep.Before.New)
	if t.ByHand > 0 {
		newNote += ", and " + kit.Thousands(t.ByHand) + " made by you"
	}
	renewed := "none ended"
	if due := t.Due(); due > 0 {
		renewed = fmt.Sprintf("%s of %s that ended: %d %%", kit.Thousands(t.DueRenewed), kit.Thousands(due), (100*t.DueRenewed+due/2)/due)
	}
	started := total(t.Trials, sales.Trial)
	change := "no change in the period"
	if t.Paying != 0 {
		change = fmt.Sprintf("%+d in the period", t.Paying)
	}
	paying := salesNumber{N: kit.Thousands(rep.Paying)}
	if !rep.Whole {
		paying.N = "…"
	}
	return []salesFigure{
		{salesNumber: total(t.New, sales.New), Label: "new", Note: newNote,
			Spark: s.spark(func(b bucket) int64 { return b.New }), Delta: deltaOf(t.New, rep.Before.New, true)},
		{salesNumber: total(t.Renewed, sales.Renewed), Label: "renewed", Note: renewed,
			Spark: s.spark(func(b bucket) int64 { return b.Renewed })},
		{salesNumber: total(t.Ended, sales.Ended), Label: "ended", Note: before(rep.Before.Ended),
			Spark: s.spark(func(b bucket) int64 { return b.Ended }), Delta: deltaOf(t.Ended, rep.Before.Ended, false)},
		{salesNumber: total(t.Converted, sales.Converted), Of: &started, Label: "trials converted", Note: "30 days: " + kit.Thousands(rep.Trials.Converted) + " of " + kit.Thousands(rep.Trials.Trials)},
		{salesNumber: paying, Label: "paying", Note: change, Spark: s.sparkOfPaying(rep.Paying)},
	}
}

// salesNotes says what the numbers, or the events that they link to, do not have.
func salesNotes(v *kit.Visit, rep sales.Report) (notes []string) {
	if rep.CountedTo != nil {
		notes = append(notes, "Counted up to "+v.Moment(*rep.CountedTo).Full+". Later events are being counted.")
	}
	if !rep.Whole {
		notes = append(notes, "The current licenses are being counted.")
	}
	if n := int(rep.Uncounted); n > 0 {
		notes = append(notes, kit.Count(n, "event")+" could not be counted, the first is "+rep.FirstUncounted+": the numbers do not have "+kit.Verb(n, "it", "them")+".")
	}
	if rep.KeptSince != nil {
		notes = append(notes, "Events are kept since "+v.Moment(*rep.KeptSince).Full+": the audit log does not list earlier ones.")
	}
	if n := rep.Total.Erased; n > 0 {
		notes = append(notes, kit.Count(int(n), "event")+" of erased customers "+kit.Verb(int(n), "was", "were")+" blanked in the period: the audit log does not list "+kit.Verb(int(n), "it", "them")+" here.")
	}
	return notes
}

// periodDays describes the days of a period, such as "16 to 22 November 2026".
func periodDays(p sales.Period) string {
	from, last := "2", p.Last()
	if p.From.Month() != last.Month() || p.From.Year() != last.Year() {
		from += " January"
	}
	if p.From.Year() != last.Year() {
		from += " 2006"
	}
	return p.From.Format(from) + " to " + last.Format("2 January 2006")
}

// exportSales writes the numbers of each day and plan of a period as CSV.
func exportSales(v *kit.Visit) error {
	rep, err := salesReport(v)
	if err != nil {
		return err
	}
	out := csvfile.NewWriter(&kit.CsvDownload{V: v, Name: "sales"})
	out.Write([]string{"day", "plan_id", "new", "by_hand", "trials", "converted", "renewed", "ended", "due_renewed", "due_ended"})
	for _, d := range rep.Days {
		row := []string{d.Day, d.Plan}
		for _, n := range []int64{d.New, d.ByHand, d.Numbers.Trials, d.Converted, d.Renewed, d.Ended, d.DueRenewed, d.DueEnded} {
			row = append(row, strconv.FormatInt(n, 10))
		}
		out.Write(row)
	}
	return out.Flush()
}
