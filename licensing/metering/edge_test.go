package metering_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
	"github.com/seed-d8a106b4/licensekit/storetest"
)

// TestFirstMonthOfALicense: it begins at StartsAt, and has also what was used before. The
// next begins on the same day of the month or, if that is shorter, on its last.
func TestFirstMonthOfALicense(t *testing.T) {
	is := is.New(t)
	f := newFixture(memory.New())
	starts := start.Add(10 * time.Hour) // 31 October
	l, err := f.rules.Create(t.Context(), api.CreateLicenseParams{Name: "Ada", ProductID: "atlas", CustomerID: "ada", StartsAt: &starts, Terms: api.Terms{
		Meters: map[string]api.Meter{"own": {Per: api.PerLicenseMonth}},
	}})
	is.NoErr(err)
	f.record(t, l, at(use("own", "long before", 1), start.Add(-33*day)), at(use("own", "before", 1), start))
	next := starts.AddDate(0, 0, 30)
	f.now = next
	f.record(t, l, at(use("own", "first", 1), starts), at(use("own", "last", 1), next.Add(-time.Millisecond)), at(use("own", "next", 1), next))
	is.Equal(f.periods(t, l, 9), map[string]int64{fmt.Sprint("own ", starts.UnixMilli()): 4, fmt.Sprint("own ", next.UnixMilli()): 1})
}

// TestMoreThanCanBeCounted: a meter counts up to the largest number that every JSON parser
// represents, and refuses more, also of what has happened.
func TestMoreThanCanBeCounted(t *testing.T) {
	is := is.New(t)
	f := newFixture(memory.New())
	l := f.create(t, map[string]api.Meter{"calls": {}})
	_, err := f.CorrectUsage(t.Context(), api.CorrectUsageParams{LicenseID: l.ID, Meter: "calls", Used: 1<<53 - 3})
	is.NoErr(err)
	for _, r := range []api.UsageReport{use("calls", "a", 3), at(use("calls", "a", 3), f.now)} {
		_, code := f.count(t, l, r)
		is.Equal(code, api.VerdictUsageLimit)
	}
	counted, _ := f.count(t, l, use("calls", "a", 2))
	is.Equal(counted, []int64{2})
}

// TestThresholdsAreRoundedUp: 80 % of 7 is reached with 6.
func TestThresholdsAreRoundedUp(t *testing.T) {
	is := is.New(t)
	f := newFixture(memory.New())
	l := f.create(t, exports(7))
	f.count(t, l, use("exports", "a", 5))
	is.Equal(len(f.events(t, l.ID, api.EventUsageThreshold)), 0)
	f.count(t, l, use("exports", "a", 6))
	is.Equal(len(f.events(t, l.ID, api.EventUsageThreshold)), 1)
}

// TestCorrectAMeterThatIsGone: what was used of a meter that the license had can be corrected
// with the beginning of its period.
func TestCorrectAMeterThatIsGone(t *testing.T) {
	is := is.New(t)
	f := newFixture(memory.New())
	l := f.create(t, exports(7))
	f.count(t, l, use("exports", "a", 5))
	_, err := f.rules.Update(t.Context(), api.UpdateLicenseParams{ID: l.ID, Meters: api.To(map[string]*api.MeterChange{"exports": nil})})
	is.NoErr(err)
	p := api.CorrectUsageParams{LicenseID: l.ID, Meter: "exports", Used: 2}
	_, err = f.CorrectUsage(t.Context(), p)
	is.True(errors.Is(err, api.ErrNotFound))
	from := time.Date(2027, 10, 1, 0, 0, 0, 0, time.UTC)
	p.From = new(from.Add(time.Microsecond)) // times are stored in milliseconds
	got, err := f.CorrectUsage(t.Context(), p)
	is.NoErr(err)
	is.Equal([]any{got.Used, *got.From}, []any{int64(2), from})
	f.countedAddsUp(t, l)
}

// TestLeaveAtTheEndOfAPeriod: a transfer in the instant in which a period ends removes it. It
// tells nothing of a meter of which all was told.
func TestLeaveAtTheEndOfAPeriod(t *testing.T) {
	is := is.New(t)
	f := newFixture(storetest.Twice(memory.New()))
	l := f.create(t, map[string]api.Meter{"daily": {Per: api.PerDay}, "pack": {}})
	f.count(t, l, use("daily", "a", 1), use("pack", "a", 1))
	f.now = start.Truncate(day).Add(day - time.Hour)
	f.tell(t)
	f.now = start.Truncate(day).Add(day)
	_, err := f.rules.Transfer(t.Context(), api.TransferLicenseParams{ID: l.ID, CustomerID: "bob"})
	is.NoErr(err)
	is.Equal(f.periods(t, l, 9), map[string]int64{fmt.Sprint("pack ", time.Time{}.UnixMilli()): 1})
	is.Equal(len(f.events(t, l.ID, api.EventUsageCounted)), 2)
}

// TestManyReports: more reports and rows than one read returns count once.
func TestManyReports(t *testing.T) {
	is := is.New(t)
	f := newFixture(memory.New())
	l := f.create(t, map[string]api.Meter{"calls": {Per: api.PerDay}})
	p := api.RecordUsageParams{Licenses: []api.LicenseUsage{{LicenseID: l.ID}}}
	for i := range 2000 {
		p.Licenses[0].Usage = append(p.Licenses[0].Usage, at(use("calls", fmt.Sprint(i), 1), start.Add(-time.Duration(i%30)*day-time.Microsecond)))
	}
	usage := p.Licenses[0].Usage
	for _, want := range []int64{1, 0} {
		batch, err := f.RecordUsage(t.Context(), p)
		is.NoErr(err)
		for _, counted := range batch.Data[0].Counted {
			is.Equal(counted, want)
		}
		is.True(&p.Licenses[0].Usage[0] == &usage[0]) // the parameters of the caller are not changed
		is.True(usage[0].At.Equal(start.Add(-time.Microsecond)))
	}
	is.Equal(len(f.periods(t, l, 7)), 30)
}

// TestRecordedUsageIsRefused: the refusal is listed as that of a call with the key is. A
// clock may be five minutes ahead.
func TestRecordedUsageIsRefused(t *testing.T) {
	is := is.New(t)
	f := newFixture(memory.New())
	l := f.create(t, exports(1))
	_, code := f.record(t, l, at(use("exports", "a", 1), start.Add(5*time.Minute)))
	is.Equal(code, api.Code(""))
	_, code = f.record(t, l, use("exports", "b", 1))
	is.Equal(code, api.VerdictUsageLimit)
	refusals, err := f.rules.Refusals(t.Context(), api.ListRefusalsParams{ID: l.ID})
	is.NoErr(err)
	is.Equal(refusals.Data[0].Recent[0], api.RefusedCall{At: f.now, Action: "use", Asked: "exports"})
}

// TestLastPeriodOfTime: a period that would end after the last instant that JSON and stores
// represent ends with it, and so does the time for which it is kept.
func TestLastPeriodOfTime(t *testing.T) {
	is := is.New(t)
	f := newFixture(memory.New())
	starts, last := time.Date(9999, 6, 1, 0, 0, 0, 0, time.UTC), time.Date(9999, 12, 31, 23, 59, 59, 999e6, time.UTC)
	l, err := f.rules.Create(t.Context(), api.CreateLicenseParams{Name: "Ada", ProductID: "atlas", CustomerID: "ada", StartsAt: &starts, Terms: api.Terms{
		Meters: map[string]api.Meter{"own": {Per: api.PerLicenseYear}},
	}})
	is.NoErr(err)
	f.record(t, l, at(use("own", "a", 2), start))
	v, err := f.rules.Explain(t.Context(), api.ExplainLicenseParams{ID: l.ID})
	is.NoErr(err)
	is.Equal([]any{v.Meters[0].Used, *v.Meters[0].From, *v.Meters[0].ResetsAt}, []any{int64(2), starts, last})
	f.countedAddsUp(t, l)
	is.Equal(*f.events(t, l.ID, api.EventUsageCounted)[0].To, last)
	entries, err := f.store.Entries(t.Context(), store.EntryQuery{Kind: "meter"})
	is.NoErr(err)
	is.Equal(entries[0].ExpiresAt, last)
}

// TestRecordedUsageOfNoLicense: a service that reports about a license that does not exist
// for it is no program that was refused.
func TestRecordedUsageOfNoLicense(t *testing.T) {
	is := is.New(t)
	f := newFixture(memory.New())
	l := f.create(t, exports(1))
	refused := func() map[api.VerdictCode]int64 {
		days, err := inner.Of(f.rules).Refused().Usage(t.Context())
		is.NoErr(err)
		return days[len(days)-1].Refused
	}
	_, code := newFixtureAs(f, license.Caller{Products: []string{"other"}}).record(t, l, use("exports", "a", 1))
	is.Equal(code, api.VerdictNotFound)
	is.Equal(len(refused()), 0)
	_, code = f.record(t, l, use("exports", "a", 2))
	is.Equal(code, api.VerdictUsageLimit)
	is.Equal(refused(), map[api.VerdictCode]int64{api.VerdictUsageLimit: 1})
}

// TestIDsOfTwoMeters: an ID of one meter is not that of another, whose name begins the same.
func TestIDsOfTwoMeters(t *testing.T) {
	is := is.New(t)
	f := newFixture(memory.New())
	l := f.create(t, map[string]api.Meter{"call": {}, "calls": {}})
	counted, _ := f.count(t, l, use("call", "s1", 5), use("calls", "1", 5), use("calls", "s1", 5))
	is.Equal(counted, []int64{5, 5, 5})
}

// TestPeriodsThatBeginTogether: a change of the period keeps the count if both begin at the
// same instant, as the first month and the first year of a license do.
func TestPeriodsThatBeginTogether(t *testing.T) {
	is := is.New(t)
	f := newFixture(storetest.Twice(memory.New()))
	l := f.create(t, map[string]api.Meter{"exports": {Limit: limit(10), Per: api.PerLicenseMonth}})
	per := func(per api.MeterPeriod) {
		change := map[string]*api.MeterChange{"exports": {Per: api.To(per)}}
		_, err := f.rules.Update(t.Context(), api.UpdateLicenseParams{ID: l.ID, Meters: api.To(change)})
		is.NoErr(err)
	}
	f.count(t, l, use("exports", "a", 6))
	per(api.PerLicenseYear)
	_, code := f.count(t, l, use("exports", "b", 5))
	is.Equal(code, api.VerdictUsageLimit)
	per(api.PerDay) // another one
	f.count(t, l, use("exports", "b", 5))
	is.Equal(len(f.periods(t, l, 200)), 2)
}
