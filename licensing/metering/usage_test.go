package metering_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
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

const day = 24 * time.Hour

func exports(n int64) map[string]api.Meter {
	return map[string]api.Meter{"exports": {Limit: limit(n), Per: api.PerMonth}}
}

// TestRefusedUsage: a refusal has the limit, what was used and the reset, counts nothing of
// two meters, and is listed with the meter that was asked for.
func TestRefusedUsage(t *testing.T) {
	is := is.New(t)
	f := newFixture(memory.New())
	l := f.create(t, map[string]api.Meter{"exports": {Limit: limit(10), Per: api.PerMonth}, "calls": {}})
	f.count(t, l, use("exports", "a", 8))
	_, err := f.CountUsage(t.Context(), api.CountUsageParams{Key: l.Key, Usage: []api.UsageReport{use("calls", "b", 1), use("exports", "b", 3)}})
	denied, _ := errors.AsType[*api.DeniedError](err)
	is.True(errors.Is(err, api.ErrUsageLimit) && errors.Is(err, api.ErrDenied))
	is.Equal(denied.Verdict.Reasons, []api.Reason{{Code: "usage_limit", Detail: "8 of 10 exports are used, and the request needs 3 more; counting starts again at 2027-11-01T00:00:00Z."}})
	u := denied.Verdict.Meters[0]
	is.Equal([]any{u.Name, *u.Limit, u.Used, *u.Remaining, *u.ResetsAt, *denied.Verdict.NextChangeAt}, []any{"exports", int64(10), int64(8), int64(2), time.Date(2027, 11, 1, 0, 0, 0, 0, time.UTC), *u.ResetsAt})
	is.Equal(denied.Verdict.License.Key, "")
	counted, code := f.record(t, l, use("calls", "b", 1), use("exports", "b", 2))
	is.Equal(code, api.Code(""))
	is.Equal(counted, []int64{1, 2}) // neither had counted
	counted, _ = f.record(t, l, at(use("exports", "c", 5), f.now))
	is.Equal(counted, []int64{5}) // it has happened

	refusals, err := f.rules.Refusals(t.Context(), api.ListRefusalsParams{ID: l.ID})
	is.NoErr(err)
	is.Equal(refusals.Data[0].Code, api.VerdictUsageLimit)
	is.Equal(refusals.Data[0].Recent[0], api.RefusedCall{At: f.now, Action: "use", Asked: "exports"})

	_, err = f.rules.Suspend(t.Context(), api.ChangeStateParams{ID: l.ID})
	is.NoErr(err)
	_, code = f.count(t, l, use("calls", "d", 1))
	is.Equal(code, api.VerdictSuspended)
	counted, code = f.count(t, l, at(use("calls", "d", 1), f.now))
	is.Equal([]any{counted, code}, []any{[]int64{1}, api.Code("")})
	_, err = f.CountUsage(t.Context(), api.CountUsageParams{Key: l.Key, ProductID: "other", Usage: []api.UsageReport{at(use("calls", "d", 9), f.now)}})
	denied, _ = errors.AsType[*api.DeniedError](err)
	is.Equal(len(denied.Verdict.Reasons), 2)
	_, err = f.CountUsage(t.Context(), api.CountUsageParams{Key: license.NewKey(), Usage: []api.UsageReport{at(use("calls", "d", 9), f.now)}})
	is.True(errors.Is(err, api.ErrNotFound))
}

// TestRecordUsage: each license is decided by itself, and those of other products do not
// exist.
func TestRecordUsage(t *testing.T) {
	is := is.New(t)
	f := newFixture(memory.New())
	ada, full := f.create(t, exports(10)), f.create(t, exports(1))
	other, err := f.rules.Create(t.Context(), api.CreateLicenseParams{Name: "Bob", ProductID: "other", CustomerID: "bob", Terms: api.Terms{Meters: exports(5)}})
	is.NoErr(err)
	limited := newFixtureAs(f, license.Caller{Products: []string{"atlas"}})
	var p api.RecordUsageParams
	for _, l := range []api.License{ada, full, other, {ID: store.NewID("lic", f.now)}} {
		p.Licenses = append(p.Licenses, api.LicenseUsage{LicenseID: l.ID, Usage: []api.UsageReport{use("exports", "job", 2)}})
	}
	batch, err := limited.RecordUsage(t.Context(), p)
	is.NoErr(err)
	var got []string
	for i, u := range batch.Data {
		is.Equal(u.LicenseID, p.Licenses[i].LicenseID)
		code := api.Code("")
		if u.Refused != nil {
			code = u.Refused.Code
		}
		got = append(got, fmt.Sprint(code, u.Counted))
	}
	is.Equal(got, []string{"[2]", "usage_limit[0]", "not_found[0]", "not_found[0]"})
	_, err = limited.ListUsage(t.Context(), api.ListUsageParams{LicenseID: other.ID})
	is.True(errors.Is(err, api.ErrNotFound))
	_, err = limited.CorrectUsage(t.Context(), api.CorrectUsageParams{LicenseID: other.ID, Meter: "exports"})
	is.True(errors.Is(err, api.ErrNotFound))
	is.Equal(len(f.periods(t, other, 9)), 0)
}

// newFixtureAs is f for a caller.
func newFixtureAs(f *fixture, c license.Caller) *fixture {
	as := *f
	as.rules = f.rules.As(c)
	as.Service = f.Service.In(as.rules)
	return &as
}

// TestIDsAreKnownFor36Days: exactly, whether or not Run has removed what has expired, and
// longer than a report with At can be repeated.
func TestIDsAreKnownFor36Days(t *testing.T) {
	is := is.New(t)
	f := newFixture(memory.New())
	l := f.create(t, map[string]api.Meter{"calls": {}})
	report := use("calls", "a", 5)
	f.count(t, l, report)
	f.now = start.Add(36*day - time.Millisecond)
	counted, _ := f.count(t, l, report)
	is.Equal(counted, []int64{0})
	f.now = start.Add(36 * day)
	counted, _ = f.count(t, l, report)
	is.Equal(counted, []int64{5})
	entries, err := f.store.Entries(t.Context(), store.EntryQuery{Kind: "counted"})
	is.NoErr(err)
	is.True(len(entries) == 1 && !strings.Contains(entries[0].Key+string(entries[0].Data), "a,"))

	f.now = start
	l = f.create(t, map[string]api.Meter{"calls": {}})
	report = at(report, start)
	f.count(t, l, report)
	f.now = start.Add(35 * day)
	counted, _ = f.count(t, l, report)
	is.Equal(counted, []int64{0})
	f.now = f.now.Add(time.Millisecond)
	_, err = f.CountUsage(t.Context(), api.CountUsageParams{Key: l.Key, Usage: []api.UsageReport{report}})
	is.Equal(wrong(err), "usage/0/at out_of_range")
}

// wrong returns the first invalid member.
func wrong(err error) string {
	if invalid, ok := errors.AsType[*api.InvalidError](err); ok {
		return invalid.Fields[0].Field + " " + invalid.Fields[0].Code
	}
	return fmt.Sprint(err)
}

// TestUsageIsChecked: an error names the member.
func TestUsageIsChecked(t *testing.T) {
	f := newFixture(memory.New())
	l := f.create(t, exports(10))
	for want, change := range map[string]func(r *api.UsageReport){
		"usage/1/meter invalid_format": func(r *api.UsageReport) { r.Meter = "" },
		"usage/1/meter out_of_range":   func(r *api.UsageReport) { r.Meter = "activations" },
		"usage/1/meter out_of_range ":  func(r *api.UsageReport) { r.Meter = "transfers" },
		"usage/1/id required":          func(r *api.UsageReport) { r.ID = "" },
		"usage/1/id too_long":          func(r *api.UsageReport) { r.ID = strings.Repeat("i", 256) },
		"usage/1/total out_of_range":   func(r *api.UsageReport) { r.Total = 0 },
		"usage/1/total out_of_range ":  func(r *api.UsageReport) { r.Total = 1_000_000_000_001 },
		"usage/1/at out_of_range":      func(r *api.UsageReport) { r.At = new(start.Add(5*time.Minute + time.Millisecond)) },
	} {
		is := is.New(t)
		reports := []api.UsageReport{use("exports", "a", 1), use("exports", "b", 1)}
		change(&reports[1])
		_, err := f.CountUsage(t.Context(), api.CountUsageParams{Key: l.Key, Usage: reports})
		is.Equal(wrong(err), strings.TrimSpace(want))
		_, err = f.RecordUsage(t.Context(), api.RecordUsageParams{Licenses: []api.LicenseUsage{{LicenseID: l.ID, Usage: reports}}})
		is.Equal(wrong(err), "licenses/0/"+strings.TrimSpace(want))
	}
	is := is.New(t)
	twice := api.LicenseUsage{LicenseID: l.ID, Usage: []api.UsageReport{use("exports", "a", 1)}}
	_, err := f.RecordUsage(t.Context(), api.RecordUsageParams{Licenses: []api.LicenseUsage{twice, twice}})
	is.Equal(wrong(err), "licenses/1/license_id repeated")
	_, err = f.RecordUsage(t.Context(), api.RecordUsageParams{})
	is.Equal(wrong(err), "licenses required")
	many := make([]api.UsageReport, 101)
	for i := range many {
		many[i] = use("exports", fmt.Sprint(i), 1)
	}
	_, err = f.CountUsage(t.Context(), api.CountUsageParams{Key: l.Key, Usage: many})
	is.Equal(wrong(err), "usage out_of_range")
	_, err = f.RecordUsage(t.Context(), api.RecordUsageParams{Licenses: make([]api.LicenseUsage, 101)})
	is.Equal(wrong(err), "licenses out_of_range")
	big := api.LicenseUsage{LicenseID: l.ID}
	for i := range 1500 {
		big.Usage = append(big.Usage, use("exports", fmt.Sprint(i), 1))
	}
	other := big
	other.LicenseID = f.create(t, exports(1)).ID
	_, err = f.RecordUsage(t.Context(), api.RecordUsageParams{Licenses: []api.LicenseUsage{big, other}})
	is.Equal(wrong(err), "licenses too_many")
}

// TestThresholds: 80 and 100 % once for each period and limit, a jump over both tells the
// higher one, and a raised or lowered limit has thresholds of its own.
func TestThresholds(t *testing.T) {
	is := is.New(t)
	f := newFixture(storetest.Twice(memory.New()))
	l := f.create(t, exports(10))
	n := 0
	reached := func(units int64) string {
		n++
		f.count(t, l, at(use("exports", fmt.Sprint(n), units), f.now))
		text := ""
		for _, e := range f.events(t, l.ID, api.EventUsageThreshold) {
			text += fmt.Sprintf("%d%% of %d at %d; ", e.Percent, *e.Limit, e.Used)
		}
		return text
	}
	is.Equal(reached(7), "")
	is.Equal(reached(1), "80% of 10 at 8; ")
	is.Equal(reached(1), "80% of 10 at 8; ")
	is.Equal(reached(5), "80% of 10 at 8; 100% of 10 at 14; ")
	_, code := f.record(t, f.create(t, exports(10)), use("exports", "x", 9), use("none", "x", 1))
	is.Equal(code, api.VerdictMeterMissing)
	_, code = f.record(t, f.create(t, exports(10)), use("exports", "x", 9), use("exports", "y", 2))
	is.Equal(code, api.VerdictUsageLimit)
	page, err := f.rules.Events(t.Context(), api.ListEventsParams{Types: []string{api.EventUsageThreshold}})
	is.NoErr(err)
	is.Equal(len(page.Data), 2) // a refused request reaches nothing
	raise := func(to int64) {
		_, err := f.rules.Update(t.Context(), api.UpdateLicenseParams{ID: l.ID, Meters: api.To(map[string]*api.MeterChange{"exports": {Limit: api.To(to)}})})
		is.NoErr(err)
	}
	raise(100)
	is.Equal(reached(1), "80% of 10 at 8; 100% of 10 at 14; ")
	raise(12)
	is.Equal(reached(1), "80% of 10 at 8; 100% of 10 at 14; 100% of 12 at 16; ")
	raise(10)
	is.Equal(reached(1), "80% of 10 at 8; 100% of 10 at 14; 100% of 12 at 16; ")
	f.now = start.Add(day) // the next month
	is.Equal(reached(10), "80% of 10 at 8; 100% of 10 at 14; 100% of 12 at 16; 100% of 10 at 10; ")
}

// TestUsageIsToldOnceAnHour: at most, and nothing is told twice or lost when a process is
// stopped between two Updates, or when two tell together.
func TestUsageIsToldOnceAnHour(t *testing.T) {
	is := is.New(t)
	f := newFixture(memory.New())
	l := f.create(t, map[string]api.Meter{"calls": {Per: api.PerDay}})
	f.count(t, l, use("calls", "a", 5))
	f.now = f.now.Add(time.Hour - time.Millisecond)
	f.count(t, l, use("calls", "b", 5))
	f.tell(t)
	is.Equal(len(f.events(t, l.ID, api.EventUsageCounted)), 0)
	f.now = f.now.Add(time.Millisecond)
	f.tell(t)
	f.tell(t)
	told := f.events(t, l.ID, api.EventUsageCounted)
	is.Equal([]any{len(told), told[0].Counted, told[0].Used, *told[0].To}, []any{1, int64(10), int64(10), start.Truncate(day).Add(day)})
	f.count(t, l, use("calls", "c", 1))
	f.now = f.now.Add(time.Hour)
	f.tell(t)
	is.Equal(f.told(t, l.ID)[fmt.Sprint("calls ", start.Truncate(day).UnixMilli())], int64(11))
	rows := func() int {
		entries, err := f.store.Entries(t.Context(), store.EntryQuery{Kind: "meter"})
		is.NoErr(err)
		return len(entries)
	}
	f.now = start.Truncate(day).Add(401*day - time.Millisecond)
	f.tell(t)
	is.Equal(rows(), 1)
	f.now = f.now.Add(time.Millisecond)
	f.tell(t)
	is.Equal(rows(), 0)
}

// TestUsageOfAPack: what was used of a meter without period is kept for good. A repeated
// report counts nothing in a later period, and a late one counts in the period of At.
func TestUsageOfAPack(t *testing.T) {
	is := is.New(t)
	f := newFixture(memory.New())
	l := f.create(t, map[string]api.Meter{"pack": {Limit: limit(10)}, "daily": {Limit: limit(5), Per: api.PerDay}})
	f.count(t, l, use("pack", "a", 9), use("daily", "a", 4))
	midnight := start.Truncate(day)
	want := map[string]int64{fmt.Sprint("pack ", time.Time{}.UnixMilli()): 9, fmt.Sprint("daily ", midnight.UnixMilli()): 4}
	f.now = start.Add(day)
	counted, _ := f.count(t, l, use("daily", "a", 4), at(use("daily", "a", 4), start))
	is.Equal(counted, []int64{0, 0})
	is.Equal(f.periods(t, l, 9), want)
	u, err := f.CountUsage(t.Context(), api.CountUsageParams{Key: l.Key, Usage: []api.UsageReport{at(use("daily", "late", 3), midnight), at(use("daily", "next", 1), midnight.Add(day))}})
	is.NoErr(err)
	is.Equal([]any{len(u.Meters), u.Meters[0].Used, *u.Meters[0].From}, []any{1, int64(1), midnight.Add(day)}) // the present period
	want[fmt.Sprint("daily ", midnight.UnixMilli())] = 7
	want[fmt.Sprint("daily ", midnight.Add(day).UnixMilli())] = 1
	is.Equal(f.periods(t, l, 9), want)
	f.countedAddsUp(t, l)
	f.now = start.AddDate(30, 0, 0)
	f.tell(t)
	is.Equal(f.periods(t, l, 9), map[string]int64{fmt.Sprint("pack ", time.Time{}.UnixMilli()): 9})
	_, code := f.count(t, l, use("pack", "b", 2))
	is.Equal(code, api.VerdictUsageLimit)
}

// TestUsageIsToldByTwoRuns: processes that tell usage at the same time tell it once.
func TestUsageIsToldByTwoRuns(t *testing.T) {
	backends(t, func(t *testing.T, st store.Store) {
		f := newFixture(st)
		var all []api.License
		for i := range 80 {
			l := f.create(t, map[string]api.Meter{"calls": {}})
			f.count(t, l, use("calls", "a", int64(i+1)))
			all = append(all, l)
		}
		f.now = f.now.Add(time.Hour)
		var runs sync.WaitGroup
		for range 4 {
			runs.Go(func() {
				for more := true; more; {
					var err error
					if more, err = inner.Of(f.rules).Meters().TellUsage(t.Context()); err != nil {
						t.Error(err)
					}
				}
			})
		}
		runs.Wait()
		for i, l := range all {
			is.New(t).Equal(f.told(t, l.ID)[fmt.Sprint("calls ", time.Time{}.UnixMilli())], int64(i+1))
		}
	})
}

// A haltingStore fails all Updates after some.
type haltingStore struct {
	store.Store
	left int
}

var errHalted = errors.New("halted")

func (st *haltingStore) Update(ctx context.Context, fn func(store.Tx) error) error {
	if st.left--; st.left < 0 {
		return errHalted
	}
	return st.Store.Update(ctx, fn)
}

// TestTellingIsStopped: the events add up whichever Updates are made before a process ends.
func TestTellingIsStopped(t *testing.T) {
	is := is.New(t)
	for stop := range 3 { // there are three batches
		st := &haltingStore{Store: memory.New(), left: 1 << 30}
		f := newFixture(st)
		var all []api.License
		for i := range 120 {
			l := f.create(t, map[string]api.Meter{"calls": {}})
			f.count(t, l, use("calls", "a", int64(i+1)))
			all = append(all, l)
		}
		f.now = f.now.Add(time.Hour)
		st.left = stop
		for range stop {
			f2 := newFixture(st) // another process, at the same time
			f2.now = f.now
			_, _ = f2.tellOnce(t)
		}
		_, err := f.tellOnce(t)
		is.True(errors.Is(err, errHalted))
		st.left = 1 << 30
		f.tell(t)
		for i, l := range all {
			is.Equal(f.told(t, l.ID)[fmt.Sprint("calls ", time.Time{}.UnixMilli())], int64(i+1))
		}
	}
}

// TestCorrectUsage: a correction is one event, of what was not told, too, and later reports
// count in addition.
func TestCorrectUsage(t *testing.T) {
	is := is.New(t)
	f := newFixture(storetest.Twice(memory.New()))
	l := f.create(t, exports(10))
	f.count(t, l, use("exports", "a", 9))
	f.now = f.now.Add(time.Hour)
	f.tell(t)
	f.count(t, l, use("exports", "b", 1))
	by := newFixtureAs(f, license.Caller{Actor: "operator:opr_1"})
	correct := func(p api.CorrectUsageParams) (api.UsagePeriod, error) {
		p.LicenseID = l.ID
		return by.CorrectUsage(t.Context(), p)
	}
	got, err := correct(api.CorrectUsageParams{Meter: "exports", Used: 4, Reason: "failed"})
	is.NoErr(err)
	is.Equal([]any{got.Meter, got.Used, *got.From}, []any{"exports", int64(4), time.Date(2027, 10, 1, 0, 0, 0, 0, time.UTC)})
	told := f.events(t, l.ID, api.EventUsageCounted)
	is.Equal([]any{len(told), told[1].Counted, told[1].Used}, []any{2, int64(-5), int64(4)})
	page, err := f.rules.Events(t.Context(), api.ListEventsParams{Subject: l.ID, NewestFirst: true, Limit: 1})
	is.NoErr(err)
	data, err := page.Data[0].Decode()
	is.NoErr(err)
	is.Equal([]any{page.Data[0].Actor, data.Reason, page.Data[0].CustomerID}, []any{"operator:opr_1", "failed", "ada"})
	_, err = correct(api.CorrectUsageParams{Meter: "exports", Used: 4})
	is.NoErr(err)
	is.Equal(len(f.events(t, l.ID, api.EventUsageCounted)), 2) // nothing changed
	counted, _ := f.count(t, l, use("exports", "c", 6))
	is.Equal(counted, []int64{6})
	f.countedAddsUp(t, l)

	october := time.Date(2027, 10, 1, 0, 0, 0, 0, time.UTC)
	f.now = start.Add(10 * day)
	_, err = correct(api.CorrectUsageParams{Meter: "exports", Used: 2})
	is.NoErr(err) // a period without usage
	_, err = correct(api.CorrectUsageParams{Meter: "exports", Used: 1, From: &october})
	is.NoErr(err)
	_, err = correct(api.CorrectUsageParams{Meter: "exports", Used: 1, From: new(october.Add(day))})
	is.Equal(wrong(err), "from unknown")
	_, err = correct(api.CorrectUsageParams{Meter: "nothing", Used: 1})
	is.True(errors.Is(err, api.ErrNotFound))
	_, err = correct(api.CorrectUsageParams{Meter: "exports", Used: -1})
	is.Equal(wrong(err), "used out_of_range")
	f.countedAddsUp(t, l)
	is.Equal(len(f.periods(t, l, 1)), 2)

	f.now = f.now.AddDate(0, 1, 0)
	december := time.Date(2027, 12, 1, 0, 0, 0, 0, time.UTC)
	got, err = correct(api.CorrectUsageParams{Meter: "exports", Used: 2, From: &december})
	is.NoErr(err) // the present period
	is.Equal(*got.To, december.AddDate(0, 1, 0))
	counted, code := f.count(t, l, use("exports", "d", 9))
	is.Equal([]any{counted, code}, []any{[]int64(nil), api.VerdictUsageLimit})
	f.countedAddsUp(t, l)
}

// TestLimitsChangeInAPeriod: a new limit holds for what was used before, too, and another
// period begins its own count, which goes on if the first returns.
func TestLimitsChangeInAPeriod(t *testing.T) {
	is := is.New(t)
	f := newFixture(memory.New())
	l := f.create(t, exports(5))
	n := 0
	one := func() api.Code {
		n++
		_, code := f.count(t, l, use("exports", fmt.Sprint(n), 1))
		return code
	}
	change := func(c api.MeterChange) {
		_, err := f.rules.Update(t.Context(), api.UpdateLicenseParams{ID: l.ID, Meters: api.To(map[string]*api.MeterChange{"exports": &c})})
		is.NoErr(err)
	}
	for range 5 {
		is.Equal(one(), api.Code(""))
	}
	is.Equal(one(), api.VerdictUsageLimit)
	change(api.MeterChange{Limit: api.To[int64](6)})
	is.Equal(one(), api.Code(""))
	is.Equal(one(), api.VerdictUsageLimit)
	change(api.MeterChange{Limit: api.To[int64](3)})
	is.Equal(one(), api.VerdictUsageLimit)
	change(api.MeterChange{Per: api.To(api.PerDay)})
	is.Equal(one(), api.Code(""))
	change(api.MeterChange{Per: api.To(api.PerMonth), Limit: api.To[int64](7)})
	is.Equal(one(), api.Code(""))
	is.Equal(one(), api.VerdictUsageLimit)
	change(api.MeterChange{Soft: new(true)})
	is.Equal(one(), api.Code(""))
	change(api.MeterChange{Soft: new(false), Limit: api.ToNull[int64]()})
	is.Equal(one(), api.Code(""))
	change(api.MeterChange{Limit: api.To[int64](0), Per: api.ToNull[api.MeterPeriod]()})
	is.Equal(one(), api.VerdictUsageLimit)
}

// TestUsageLeaves: a deletion tells what was not told; a rekey keeps counts; a transfer
// keeps running periods, tells all under the former customer, and removes what has ended.
func TestUsageLeaves(t *testing.T) {
	is := is.New(t)
	f := newFixture(storetest.Twice(memory.New()))
	meters := map[string]api.Meter{"pack": {Limit: limit(10)}, "daily": {Per: api.PerDay}}
	l := f.create(t, meters)
	f.count(t, l, use("pack", "a", 9), use("daily", "a", 1), at(use("daily", "b", 2), start.Add(-day)))
	l, err := f.rules.Rekey(t.Context(), api.RekeyLicenseParams{ID: l.ID})
	is.NoErr(err)
	counted, _ := f.count(t, l, use("pack", "a", 9))
	is.Equal(counted, []int64{0})
	l, err = f.rules.Transfer(t.Context(), api.TransferLicenseParams{ID: l.ID, CustomerID: "bob"})
	is.NoErr(err)
	is.Equal(f.periods(t, l, 9), map[string]int64{fmt.Sprint("pack ", time.Time{}.UnixMilli()): 9, fmt.Sprint("daily ", start.Truncate(day).UnixMilli()): 1})
	is.Equal(len(f.events(t, l.ID, api.EventUsageCounted)), 3)
	page, err := f.rules.Events(t.Context(), api.ListEventsParams{Subject: l.ID})
	is.NoErr(err)
	for _, e := range page.Data {
		if e.Type == api.EventUsageCounted {
			is.Equal(e.CustomerID, "ada")
		}
	}
	_, code := f.count(t, l, use("pack", "b", 2))
	is.Equal(code, api.VerdictUsageLimit)
	f.count(t, l, use("pack", "c", 1))
	is.NoErr(f.rules.Delete(t.Context(), api.DeleteLicenseParams{ID: l.ID}))
	is.Equal(f.told(t, l.ID)[fmt.Sprint("pack ", time.Time{}.UnixMilli())], int64(10))
	entries, err := f.store.Entries(t.Context(), store.EntryQuery{Kind: "meter"})
	is.NoErr(err)
	is.True(len(entries) == 1 && !entries[0].ExpiresAt.IsZero())
	f.now = f.now.Add(500 * day)
	f.tell(t)
	entries, err = f.store.Entries(t.Context(), store.EntryQuery{Kind: "meter"})
	is.NoErr(err)
	is.Equal(len(entries), 0)
	is.Equal(len(f.events(t, l.ID, api.EventUsageCounted)), 4)
}

// TestTransferWithManyPeriods: more ended periods than one Update removes do not stop a
// transfer.
func TestTransferWithManyPeriods(t *testing.T) {
	is := is.New(t)
	f := newFixture(memory.New())
	meters := map[string]api.Meter{}
	for i := range 20 {
		meters[fmt.Sprint("m", i)] = api.Meter{Per: api.PerDay}
	}
	l := f.create(t, meters)
	for d := range 60 {
		f.now = start.Add(time.Duration(d) * day)
		var reports []api.UsageReport
		for i := range 20 {
			reports = append(reports, use(fmt.Sprint("m", i), fmt.Sprint(d), 1))
		}
		f.record(t, l, reports...)
	}
	_, err := f.rules.Transfer(t.Context(), api.TransferLicenseParams{ID: l.ID, CustomerID: "bob"})
	is.NoErr(err)
	is.Equal(len(f.periods(t, l, 200)), 20)
	is.Equal(len(f.events(t, l.ID, api.EventUsageCounted)), 1200)
}

// TestUsageInsideAnUpdate: counting joins Atomically and Once.
func TestUsageInsideAnUpdate(t *testing.T) {
	is := is.New(t)
	f := newFixture(memory.New())
	l := f.create(t, exports(2))
	failed := errors.New("failed")
	count := func(in *license.Service, id string) error {
		_, err := f.In(in).CountUsage(t.Context(), api.CountUsageParams{Key: l.Key, Usage: []api.UsageReport{use("exports", id, 1)}})
		return err
	}
	err := f.rules.Atomically(t.Context(), func(in *license.Service) error {
		if err := count(in, "a"); err != nil {
			return err
		}
		return failed
	})
	is.True(errors.Is(err, failed))
	is.NoErr(f.rules.Atomically(t.Context(), func(in *license.Service) error {
		is.NoErr(count(in, "b"))
		is.NoErr(count(in, "b"))
		is.NoErr(count(in, "c"))
		is.True(errors.Is(count(in, "d"), api.ErrUsageLimit)) // and the rest is kept
		return nil
	}))
	is.Equal(f.periods(t, l, 9), map[string]int64{fmt.Sprint("exports ", time.Date(2027, 10, 1, 0, 0, 0, 0, time.UTC).UnixMilli()): 2})
}

// TestUsageMovesWithTheStore: an export and import of a store in the middle of a period
// keep counts, IDs and what was told.
func TestUsageMovesWithTheStore(t *testing.T) {
	is := is.New(t)
	f := newFixture(memory.New())
	l := f.create(t, exports(5))
	f.count(t, l, use("exports", "a", 4))
	f.now = f.now.Add(time.Hour)
	f.tell(t)
	f.count(t, l, use("exports", "b", 1))
	var archive strings.Builder
	is.NoErr(store.Export(t.Context(), f.store, &archive))
	to := newFixture(memory.New())
	to.now = f.now
	is.NoErr(store.Import(t.Context(), to.store, strings.NewReader(archive.String())))
	counted, _ := to.count(t, l, use("exports", "a", 4))
	is.Equal(counted, []int64{0})
	_, code := to.count(t, l, use("exports", "c", 1))
	is.Equal(code, api.VerdictUsageLimit)
	to.countedAddsUp(t, l)
}

// TestTheLargestRequest stays within the bounds of one Update.
func TestTheLargestRequest(t *testing.T) {
	is := is.New(t)
	st := &countingStore{Store: memory.New()}
	f := newFixture(st)
	meters := map[string]api.Meter{}
	for i := range 20 {
		meters[fmt.Sprint("m", i)] = api.Meter{Limit: limit(1), Per: api.PerDay}
	}
	var p api.RecordUsageParams
	for range 100 {
		l := f.create(t, meters)
		usage := api.LicenseUsage{LicenseID: l.ID}
		for i := range 20 {
			usage.Usage = append(usage.Usage, use(fmt.Sprint("m", i), "a", 1))
		}
		p.Licenses = append(p.Licenses, usage)
	}
	st.records, st.bytes = 0, 0
	batch, err := f.RecordUsage(t.Context(), p)
	is.NoErr(err)
	is.True(batch.Data[99].Refused == nil)
	is.True(st.records == 5000 && st.bytes < 16<<20)
}

// A countingStore counts the entries and events that are written.
type countingStore struct {
	store.Store
	records, bytes int
}

func (st *countingStore) Update(ctx context.Context, fn func(store.Tx) error) error {
	return st.Store.Update(ctx, func(tx store.Tx) error { return fn(countingTx{tx, st}) })
}

type countingTx struct {
	store.Tx
	st *countingStore
}

func (tx countingTx) PutEntries(ctx context.Context, all ...store.Entry) error {
	for _, e := range all {
		tx.st.records, tx.st.bytes = tx.st.records+1, tx.st.bytes+len(e.Key)+len(e.Owner)+len(e.Data)
	}
	return tx.Tx.PutEntries(ctx, all...)
}

func (tx countingTx) AppendEvents(ctx context.Context, all ...store.Event) error {
	for _, e := range all {
		tx.st.records, tx.st.bytes = tx.st.records+1, tx.st.bytes+len(e.Data)+200
	}
	return tx.Tx.AppendEvents(ctx, all...)
}
