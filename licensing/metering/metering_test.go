package metering_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/licensing/metering"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
	"github.com/seed-d8a106b4/licensekit/store/sqlite"
	"github.com/seed-d8a106b4/licensekit/storetest"
)

// A fixture is the rules on a store, with a clock that stands still until it is moved.
type fixture struct {
	*metering.Service
	rules *license.Service
	store store.Store
	now   time.Time
}

var start = time.Date(2027, 10, 31, 12, 30, 0, 250e6, time.UTC)

func newFixture(st store.Store) *fixture {
	f := &fixture{store: st, now: start}
	f.rules = license.New(st, license.Options{Now: func() time.Time { return f.now }})
	f.Service = metering.New(f.rules)
	return f
}

func (f *fixture) create(t *testing.T, meters map[string]api.Meter) api.License {
	t.Helper()
	l, err := f.rules.Create(t.Context(), api.CreateLicenseParams{Name: "Ada", ProductID: "atlas", CustomerID: "ada", Terms: api.Terms{Meters: meters}})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func limit(n int64) *int64 { return &n }

func use(meter, id string, total int64) api.UsageReport {
	return api.UsageReport{Meter: meter, ID: id, Total: total}
}

func at(r api.UsageReport, at time.Time) api.UsageReport {
	r.At = &at
	return r
}

// count reports with the key of a license, and returns what counted or the code of the
// refusal.
func (f *fixture) count(t *testing.T, l api.License, reports ...api.UsageReport) ([]int64, api.Code) {
	t.Helper()
	u, err := f.CountUsage(t.Context(), api.CountUsageParams{Key: l.Key, Usage: reports})
	if denied, ok := errors.AsType[*api.DeniedError](err); ok {
		return nil, denied.Verdict.Code
	}
	if err != nil {
		t.Fatal(err)
	}
	return u.Counted, ""
}

// record is count by the ID of the license.
func (f *fixture) record(t *testing.T, l api.License, reports ...api.UsageReport) ([]int64, api.Code) {
	t.Helper()
	batch, err := f.RecordUsage(t.Context(), api.RecordUsageParams{Licenses: []api.LicenseUsage{{LicenseID: l.ID, Usage: reports}}})
	if err != nil {
		t.Fatal(err)
	}
	if u := batch.Data[0]; u.Refused != nil {
		return nil, u.Refused.Code
	}
	return batch.Data[0].Counted, ""
}

// periods returns what was used, by meter and the beginning of the period, as a model does.
func (f *fixture) periods(t *testing.T, l api.License, page int) map[string]int64 {
	t.Helper()
	used := map[string]int64{}
	last := ""
	for cursor, more := "", true; more; {
		list, err := f.ListUsage(t.Context(), api.ListUsageParams{LicenseID: l.ID, Limit: page, Cursor: cursor})
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range list.Data {
			from, text := time.Time{}, ""
			if p.From != nil {
				from, text = *p.From, p.From.Format(time.RFC3339Nano)
			}
			if last != "" && text > last {
				t.Fatalf("the period of %s comes after that of %s", text, last)
			}
			last = text
			used[fmt.Sprint(p.Meter, " ", from.UnixMilli())] = p.Used
		}
		cursor, more = list.NextCursor, list.HasMore
	}
	return used
}

func sqliteStore(t *testing.T) store.Store {
	t.Helper()
	st, err := sqlite.Open(filepath.Join(t.TempDir(), "usage.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	return st
}

// backends are the stores of the tests that need no other process.
func backends(t *testing.T, test func(t *testing.T, st store.Store)) {
	t.Run("memory", func(t *testing.T) { test(t, storetest.Twice(memory.New())) })
	t.Run("sqlite", func(t *testing.T) { test(t, sqliteStore(t)) })
}

func allMeters() map[string]api.Meter {
	return map[string]api.Meter{
		"pack": {Limit: limit(40)}, "free": {}, "daily": {Limit: limit(9), Per: api.PerDay}, "monthly": {Limit: limit(30), Per: api.PerMonth},
		"soft": {Limit: limit(10), Soft: true, Per: api.PerLicenseMonth}, "yearly": {Limit: limit(99), Per: api.PerYear}, "own": {Limit: limit(60), Per: api.PerLicenseYear},
	}
}

// TestUsageIsThatOfTheModel: random reports, many of them repeated, late or of two meters
// together, count what the model counts, with the same refusals, in the same periods. The
// license begins on a 31st, and time passes 29 February and the end of a year.
func TestUsageIsThatOfTheModel(t *testing.T) {
	histories := map[string]int{"memory": 3 * *histories, "sqlite": 4}
	backends(t, func(t *testing.T, st store.Store) {
		for seed := range histories[t.Name()[len("TestUsageIsThatOfTheModel/"):]] {
			is := is.New(t)
			random := rand.New(rand.NewPCG(uint64(seed), 51))
			f := newFixture(st)
			l := f.create(t, allMeters())
			m := newModel(l.CreatedAt, allMeters())
			names := []string{"pack", "free", "daily", "monthly", "soft", "yearly", "own", "none"}
			suspended := false
			var sent [][]api.UsageReport
			for range 60 {
				switch random.IntN(8) {
				case 0:
					f.now = f.now.Add(time.Duration(random.IntN(40*24)) * time.Hour)
				case 1:
					f.now = f.now.Add(time.Duration(random.IntN(3600)) * time.Second)
				case 2:
					if suspended = !suspended; suspended {
						_, err := f.rules.Suspend(t.Context(), api.ChangeStateParams{ID: l.ID})
						is.NoErr(err)
					} else {
						_, err := f.rules.Reinstate(t.Context(), api.ChangeStateParams{ID: l.ID})
						is.NoErr(err)
					}
				}
				var reports []api.UsageReport
				if len(sent) > 0 && random.IntN(3) == 0 { // again
					for _, r := range sent[random.IntN(len(sent))] {
						if r.At == nil || f.now.Sub(*r.At) <= 35*24*time.Hour {
							reports = append(reports, r)
						}
					}
				}
				for len(reports) == 0 || random.IntN(2) == 0 {
					r := use(names[min(random.IntN(30), 7)%8], fmt.Sprint("id", random.IntN(6)), 1+random.Int64N(12))
					if r.Meter == "none" && random.IntN(4) > 0 {
						r.Meter = names[random.IntN(7)]
					}
					if random.IntN(2) == 0 {
						r = at(r, f.now.Add(-time.Duration(random.IntN(35*24*60))*time.Minute))
						if r.At.Before(l.CreatedAt) {
							r.At = &f.now
						}
					}
					reports = append(reports, r)
				}
				sent = append(sent, reports)
				want, wantCode := m.report(f.now, !suspended, reports...)
				do := f.count
				if random.IntN(2) == 0 {
					do = f.record
				}
				got, code := do(t, l, reports...)
				is.Equal(code, wantCode)
				is.Equal(got, want)
			}
			is.Equal(f.periods(t, l, 1+random.IntN(7)), m.used)
			v, err := f.rules.Explain(t.Context(), api.ExplainLicenseParams{ID: l.ID})
			is.NoErr(err)
			is.Equal(len(v.Meters), 7)
			for _, u := range v.Meters {
				is.Equal(u.Used, m.used[m.key(u.Name, f.now)])
				from, to := m.period(m.meters[u.Name].Per, f.now)
				is.True(u.From == nil && from.IsZero() || u.From.Equal(from) && u.ResetsAt.Equal(to))
				is.True(u.Limit == nil && u.Remaining == nil || *u.Remaining == max(0, *u.Limit-u.Used))
			}
			f.countedAddsUp(t, l)
		}
	})
}

// TestUsageInEveryOrder: whatever the order of some reports, and whichever of them are
// repeated, the sum is that of the greatest totals.
func TestUsageInEveryOrder(t *testing.T) {
	is := is.New(t)
	f := newFixture(memory.New())
	reports := []api.UsageReport{use("free", "a", 3), use("free", "a", 7), use("free", "b", 2), use("free", "a", 5), use("free", "b", 2)}
	var permute func(order []api.UsageReport, left []api.UsageReport)
	n := 0
	permute = func(order, left []api.UsageReport) {
		if len(left) == 0 {
			l := f.create(t, allMeters())
			for _, r := range order {
				r = at(r, f.now)
				f.record(t, l, r)
				f.record(t, l, r)
			}
			is.Equal(f.periods(t, l, 9), map[string]int64{fmt.Sprint("free ", time.Time{}.UnixMilli()): 9})
			n++
			return
		}
		for i := range left {
			rest := append(append([]api.UsageReport{}, left[:i]...), left[i+1:]...)
			permute(append(order[:len(order):len(order)], left[i]), rest)
		}
	}
	permute(nil, reports)
	is.Equal(n, 120)
}

// TestHardLimitIsExact: a limit of k admits exactly k units, however many calls ask.
func TestHardLimitIsExact(t *testing.T) {
	backends(t, func(t *testing.T, st store.Store) {
		is := is.New(t)
		f := newFixture(st)
		l := f.create(t, map[string]api.Meter{"exports": {Limit: limit(25), Per: api.PerMonth}})
		var admitted atomic.Int64
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				for j := range 10 {
					p := api.CountUsageParams{Key: l.Key, Usage: []api.UsageReport{use("exports", fmt.Sprint(i, j), 1)}}
					if _, err := f.CountUsage(context.Background(), p); err == nil {
						admitted.Add(1)
					} else if !errors.Is(err, api.ErrUsageLimit) {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		is.Equal(admitted.Load(), int64(25))
		v, err := f.rules.Validate(t.Context(), api.ValidateKeyParams{Key: l.Key})
		is.NoErr(err)
		is.True(v.Valid) // an exhausted meter does not make the license invalid
		is.Equal([]any{v.Meters[0].Used, *v.Meters[0].Remaining}, []any{int64(25), int64(0)})
	})
}

// countedAddsUp tells all usage, and checks that the events add up to what was used.
func (f *fixture) countedAddsUp(t *testing.T, l api.License) {
	t.Helper()
	f.now = f.now.Add(time.Hour)
	f.tell(t)
	sums := f.told(t, l.ID)
	for key, used := range f.periods(t, l, 200) {
		if sums[key] != used {
			t.Errorf("%s: the events add up to %d of %d", key, sums[key], used)
		}
	}
}

// tell does what Run does.
func (f *fixture) tell(t *testing.T) {
	t.Helper()
	for more := true; more; {
		var err error
		if more, err = inner.Of(f.rules).Meters().TellUsage(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// told returns the sums of the usage.counted events of a license, by meter and period.
func (f *fixture) told(t *testing.T, id string) map[string]int64 {
	t.Helper()
	sums := map[string]int64{}
	for _, e := range f.events(t, id, api.EventUsageCounted) {
		from := time.Time{}
		if e.From != nil {
			from = *e.From
		}
		key := fmt.Sprint(e.Meter, " ", from.UnixMilli())
		if sums[key] += e.Counted; sums[key] != e.Used {
			t.Fatalf("%s: the sum is %d at %d", key, sums[key], e.Used)
		}
	}
	return sums
}

// events returns what the events of a type say about usage.
func (f *fixture) events(t *testing.T, id, eventType string) (list []api.UsageCount) {
	t.Helper()
	for after, more := int64(0), true; more; {
		page, err := f.store.Events(t.Context(), store.EventQuery{Subject: id, After: after, Limit: 1000})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range page {
			if after = e.Seq; e.Type != eventType {
				continue
			}
			data, err := api.Event{Data: e.Data}.Decode()
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, *data.Usage)
		}
		more = len(page) > 0
	}
	return list
}

// tellOnce tells a batch.
func (f *fixture) tellOnce(t *testing.T) (more bool, err error) {
	t.Helper()
	return inner.Of(f.rules).Meters().TellUsage(t.Context())
}
