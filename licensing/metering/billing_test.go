package metering_test

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/licensing/metering"
	"github.com/seed-d8a106b4/licensekit/licensing/selling"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// A subscription is what a payment provider does: a trial, and then months that all are
// counted from its end.
type subscription struct {
	start, anchor time.Time
	told          []time.Time // when the service learns of the months
}

// end returns when the month with a number ends; 0: the trial.
func (s subscription) end(n int) time.Time {
	first := time.Date(s.anchor.Year(), s.anchor.Month()+time.Month(n), 1, 0, 0, 0, 0, time.UTC)
	last := first.AddDate(0, 1, -1).Day()
	clock := s.anchor.Sub(s.anchor.Truncate(24 * time.Hour))
	return first.AddDate(0, 0, min(s.anchor.Day(), last)-1).Add(clock)
}

// month returns the number of the month that an instant is in.
func (s subscription) month(at time.Time) (n int) {
	for !at.Before(s.end(n)) {
		n++
	}
	return n
}

var histories = flag.Int("histories", 12, "how many subscriptions TestBillingMonths has, and a third of the histories of TestUsageIsThatOfTheModel")

// TestBillingMonths compares a hard limit per billing month with a model of what a provider
// bills: in each of its months, and in the trial, exactly the limit is admitted, whether the
// service learns of a month early, in time, or late. From the 29th on, a month of which it
// learns early or late may begin again, and never admits less.
func TestBillingMonths(t *testing.T) {
	const limit = 10
	for seed := range uint64(*histories) {
		random := rand.New(rand.NewPCG(seed, 7))
		start := time.Date(2026, time.Month(1+random.IntN(12)), 1+random.IntN(31), random.IntN(24), random.IntN(60), 0, 0, time.UTC)
		sub := subscription{start: start, anchor: start.AddDate(0, 0, []int{0, 3, 7, 14}[random.IntN(4)])}
		if sub.anchor.Equal(start) { // no trial
			sub.anchor = sub.end(1)
		}
		drifts := sub.anchor.Day() > 28
		for n := range 14 {
			at := sub.end(n)
			if !drifts || seed%2 == 0 {
				at = at.Add(time.Duration(random.IntN(49)-12) * time.Hour) // early or late
			}
			sub.told = append(sub.told, at)
		}
		name := fmt.Sprintf("seed %d, %s, trial until %s", seed, start.Format(time.DateTime), sub.anchor.Format(time.DateTime))

		is := is.New(t)
		ctx, now := t.Context(), start
		s := license.New(memory.New(), license.Options{Now: func() time.Time { return now }})
		sales, meters := selling.New(s), metering.New(s)
		_, err := sales.PutPlan(ctx, api.PutPlanParams{ID: "pro", ProductID: "atlas", Terms: api.Terms{
			GraceSeconds: 3 * 24 * 3600, Meters: map[string]api.Meter{"calls": {Limit: new(int64(limit)), Per: api.PerBillingMonth}},
		}})
		is.NoErr(err)
		tell := func(n int) api.License {
			f, err := sales.RecordPurchase(ctx, api.RecordPurchaseParams{Reference: "stripe:si_1", At: now, CustomerID: "ada", PlanID: "pro", State: api.PurchaseActive, Until: api.To(sub.end(n))})
			is.NoErr(err)
			return *f.License
		}
		l := tell(0)
		used, known := map[int]int64{}, 0
		for i := range 400 {
			now = now.Add(time.Duration(1+random.IntN(46)) * time.Hour)
			for known < len(sub.told)-1 && !now.Before(sub.told[known]) {
				known++
				tell(known)
			}
			if known == len(sub.told)-1 {
				break
			}
			n, units := sub.month(now), int64(1+random.IntN(3))
			_, err := meters.CountUsage(ctx, api.CountUsageParams{Key: l.Key, Usage: []api.UsageReport{{Meter: "calls", ID: fmt.Sprint(i), Total: units}}})
			admitted, fits := err == nil, used[n]+units <= limit
			if err != nil && !errors.Is(err, api.ErrUsageLimit) {
				t.Fatalf("%s, %s: %v", name, now, err)
			}
			if admitted {
				used[n] += units
			}
			if admitted != fits && (fits || !drifts || seed%2 == 1) {
				t.Fatalf("%s, %s in month %d: admitted %t, with %d of %d used before", name, now.Format(time.DateTime), n, admitted, used[n], limit)
			}
		}
		is.True(len(used) > 8)
	}
}

// TestBillingPeriods: where the periods are in the cases that the guide names.
func TestBillingPeriods(t *testing.T) {
	is := is.New(t)
	ctx := t.Context()
	day := func(text string) time.Time {
		at, err := time.Parse("2006-01-02", text)
		is.NoErr(err)
		return at
	}
	now := day("2026-03-01")
	s := license.New(memory.New(), license.Options{Now: func() time.Time { return now }})
	sales := selling.New(s)
	m := map[string]api.Meter{"calls": {Limit: new(int64(10)), Per: api.PerBillingMonth}}
	for id, p := range map[string]api.PutPlanParams{
		"pro": {Terms: api.Terms{GraceSeconds: 10 * 24 * 3600, Meters: m}}, "free": {Terms: api.Terms{Meters: m}}, "updates": {UntilEnds: api.UntilEndsUpdates, Terms: api.Terms{Meters: m}},
	} {
		p.ID, p.ProductID = id, "atlas"
		_, err := sales.PutPlan(ctx, p)
		is.NoErr(err)
	}
	var l api.License
	tell := func(reference, plan, until string) {
		p := api.RecordPurchaseParams{Reference: reference, At: now, CustomerID: "ada", PlanID: plan, State: api.PurchaseActive, LicenseID: l.ID}
		if until != "" {
			p.Until = api.To(day(until))
		}
		f, err := sales.RecordPurchase(ctx, p)
		is.NoErr(err)
		l = *f.License
	}
	period := func(at string) string {
		now = day(at)
		v, err := s.Explain(ctx, api.ExplainLicenseParams{ID: l.ID})
		is.NoErr(err)
		text := ""
		for _, u := range v.Meters {
			text += u.From.Format(" 2006-01-02") + u.ResetsAt.Format(" 2006-01-02")
		}
		return text[1:]
	}
	tell("s:1", "pro", "2026-03-15") // a trial, which is prolonged
	is.Equal(period("2026-03-02"), "2026-03-01 2026-03-15")
	tell("s:1", "pro", "2026-03-22")
	is.Equal(period("2026-03-16"), "2026-03-01 2026-03-22")
	tell("s:1", "pro", "2026-04-22") // paid early
	is.Equal(period("2026-03-21"), "2026-03-01 2026-03-22")
	is.Equal(period("2026-03-22"), "2026-03-22 2026-04-22")
	is.Equal(period("2026-04-25"), "2026-04-22 2026-05-22") // not paid yet: in grace
	tell("s:1", "pro", "2026-05-22")
	is.Equal(period("2026-04-26"), "2026-04-22 2026-05-22")
	now = day("2026-05-02")
	tell("s:1", "pro", "2027-05-02") // changes to a year, which begins now: another period
	is.Equal(period("2026-05-03"), "2026-05-02 2026-06-02")
	is.Equal(period("2026-06-02"), "2026-06-02 2026-07-02")
	tell("s:2", "free", "") // without an end, beside it: the months of the license
	is.Equal(period("2026-06-03"), "2026-06-01 2026-07-01")

	l, now = api.License{}, day("2026-01-31")
	tell("s:3", "updates", "2027-01-31")
	is.Equal(period("2026-02-27"), "2026-01-31 2026-02-28")
	is.Equal(period("2026-02-28"), "2026-02-28 2026-03-31")
	tell("s:3", "updates", "2027-02-15") // not whole months away
	is.Equal(period("2026-03-20"), "2026-03-15 2026-04-15")
}
