package sales

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/entries"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/feed"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/find"
	"github.com/seed-d8a106b4/licensekit/store"
)

// A Report is what was sold in a period.
type Report struct {
	Period Period
	Total  Numbers // Active and Paying are changes
	Before Numbers // of the period before
	Trials Numbers // Trials and Converted of the last 30 days
	Plans  []PlanReport
	Days   []DayReport

	// Active and Paying are the licenses in force at the end of the period, and those of
	// them with a purchase. Whole is false while the licenses are still being counted.
	Active, Paying int64
	Whole          bool

	CountedTo *time.Time // the last event that was counted, if there are too many after it
	KeptSince *time.Time // the first event that is kept, if the period begins before it

	Uncounted      int64  // events, and licenses older than all events, that could not be counted
	FirstUncounted string // the ID of the first
}

// A PlanReport is what was sold of a plan.
type PlanReport struct {
	Plan string
	Numbers
	InForce int64 // at the end of the period
	DueSoon int64 // ends in the next 30 days
}

// A DayReport is what was sold of a plan on a day.
type DayReport struct {
	Day, Plan string
	Numbers
}

// Report returns what was sold in a period. A caller limited to some products gets
// [api.ErrProductForbidden].
func (s Service) Report(ctx context.Context, period, before Period) (rep Report, err error) {
	if s.Caller.Products != nil {
		return Report{}, fmt.Errorf("sales: %w", api.ErrProductForbidden)
	}
	err = s.Read(ctx, func(r store.Reader) error {
		rep, err = s.report(ctx, r, period, before)
		return err
	})
	if err != nil {
		return Report{}, fmt.Errorf("sales: %w", err)
	}
	return rep, nil
}

// Sales returns what was sold in the period with a name; see package selling.
func (s Service) Sales(ctx context.Context, period string) (api.Sales, error) {
	if !slices.Contains(PeriodNames, period) {
		return api.Sales{}, api.Invalid("period", api.FieldUnknown, "must be one of "+strings.Join(PeriodNames, ", "))
	}
	p, before := PeriodOf(period, s.Now())
	rep, err := s.Report(ctx, p, before)
	if err != nil {
		return api.Sales{}, err
	}
	all := api.Sales{
		Object: "sales", Period: period, From: p.From, To: p.To, Before: rep.Before.shown(), Total: rep.Total.shown(), Plans: []api.PlanSales{}, Days: []api.DaySales{},
		Active: rep.Active, Paying: rep.Paying, Whole: rep.Whole, CountedTo: rep.CountedTo, KeptSince: rep.KeptSince,
	}
	for _, p := range rep.Plans {
		all.Plans = append(all.Plans, api.PlanSales{PlanID: p.Plan, SalesNumbers: p.Numbers.shown(), InForce: p.InForce, DueSoon: p.DueSoon})
	}
	for _, d := range rep.Days {
		if n := d.Numbers.shown(); n != (api.SalesNumbers{}) {
			all.Days = append(all.Days, api.DaySales{Day: d.Day, PlanID: d.Plan, SalesNumbers: n})
		}
	}
	return all, nil
}

func (s Service) report(ctx context.Context, r store.Reader, period, before Period) (rep Report, err error) {
	c, err := s.readLatest(ctx, r, s.Now())
	if err != nil {
		return rep, err
	}
	rep = Report{Period: period, Whole: c.Whole, Uncounted: c.Uncounted, FirstUncounted: c.FirstUncounted}
	if err := rep.note(ctx, r, c); err != nil {
		return rep, err
	}
	today := s.Now().UTC().Truncate(24 * time.Hour)
	due, month := find.DueSoon(today), Period{"", today.AddDate(0, 0, -30), today.AddDate(0, 0, 1)}
	soon := Period{"", due.From, due.Before}
	plans := map[string]*PlanReport{}
	plan := func(id string) *PlanReport {
		if plans[id] == nil {
			plans[id] = &PlanReport{Plan: id}
		}
		return plans[id]
	}
	days := byDay{}
	for id, n := range c.Totals {
		plan(id).InForce = n.Active
		rep.Active, rep.Paying = rep.Active+n.Active, rep.Paying+n.Paying
	}
	add := func(day string, numbers byPlan) {
		for id, n := range numbers {
			ends := n.Ends
			if n.Ends = 0; day > today.Format(time.DateOnly) {
				n.DueRenewed = 0 // the end has not come
			}
			switch {
			case period.Contains(day):
				rep.Total.add(n)
				at, _ := time.Parse(time.DateOnly, day)
				days.add(at, id, n)
				if id != "" || n != (Numbers{Erased: n.Erased}) {
					plan(id).add(n)
				}
			case day >= period.To.Format(time.DateOnly):
				plan(id).InForce -= n.Active
				rep.Active, rep.Paying = rep.Active-n.Active, rep.Paying-n.Paying
			case before.Contains(day):
				rep.Before.add(n)
			}
			if month.Contains(day) {
				rep.Trials.add(Numbers{Trials: n.Trials, Converted: n.Converted})
			}
			if soon.Contains(day) {
				plan(id).DueSoon += ends
			}
		}
	}
	from := before.From
	if month.From.Before(from) {
		from = month.From
	}
	q := store.EntryQuery{Kind: dayKind, From: from.Format(time.DateOnly), Before: soon.To.Format(time.DateOnly)}
	for e, err := range entries.All(ctx, r, q) {
		if err != nil {
			return rep, err
		}
		numbers, err := readDay(e)
		if err != nil {
			return rep, err
		}
		add(e.Key, numbers)
	}
	for day, numbers := range c.days {
		if day >= q.From && day < q.Before {
			add(day, numbers)
		}
	}
	for _, day := range slices.Sorted(maps.Keys(days)) {
		for _, id := range slices.Sorted(maps.Keys(days[day])) {
			rep.Days = append(rep.Days, DayReport{day, id, days[day][id]})
		}
	}
	for _, id := range slices.Sorted(maps.Keys(plans)) {
		if p := plans[id]; *p != (PlanReport{Plan: id}) {
			rep.Plans = append(rep.Plans, *p)
		}
	}
	slices.SortStableFunc(rep.Plans, func(a, b PlanReport) int {
		return cmp.Or(cmp.Compare(b.InForce, a.InForce), strings.Compare(a.Plan, b.Plan))
	})
	return rep, nil
}

// note sets which events the report knows.
func (rep *Report) note(ctx context.Context, r store.Reader, c *count) error {
	newest, err := feed.Newest(ctx, r)
	if err != nil {
		return err
	}
	if newest != c.at {
		if events, err := r.Events(ctx, store.EventQuery{After: c.at.Seq() - 1, Limit: 1}); err != nil {
			return err
		} else if len(events) > 0 {
			rep.CountedTo = &events[0].Time
		}
	}
	purged, err := feed.PurgedThrough(ctx, r)
	if err != nil || purged == 0 {
		return err
	}
	first, err := r.Events(ctx, store.EventQuery{Limit: 1})
	if err == nil && len(first) > 0 && first[0].Time.After(rep.Period.From) {
		rep.KeptSince = &first[0].Time
	}
	return err
}
