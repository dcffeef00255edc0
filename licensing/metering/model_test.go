package metering_test

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// A model says what reports of one license make of its meters, in the plainest way: it
// keeps all that was used, and looks for periods by walking through them. It shares no
// code with the rules.
type model struct {
	first  time.Time // of the license
	meters map[string]api.Meter
	known  map[string]known // by meter and ID
	used   map[string]int64 // by meter and the beginning of the period
}

type known struct {
	total int64
	at    time.Time // when it last counted
}

func newModel(first time.Time, meters map[string]api.Meter) *model {
	return &model{first: first, meters: meters, known: map[string]known{}, used: map[string]int64{}}
}

// addMonths adds months to a day that may be the last of its month.
func addMonths(t time.Time, months int) time.Time {
	for day := t.Day(); ; day-- {
		to := time.Date(t.Year(), t.Month()+time.Month(months), day, t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), time.UTC)
		if to.Day() == day {
			return to
		}
	}
}

// period returns the beginning and the end of the period of an instant.
func (m *model) period(per api.MeterPeriod, at time.Time) (from, to time.Time) {
	months := map[api.MeterPeriod]int{api.PerMonth: 1, api.PerYear: 12, api.PerLicenseMonth: 1, api.PerLicenseYear: 12}[per]
	switch {
	case per == "":
		return time.Time{}, time.Time{}
	case per == api.PerDay:
		from = at.Truncate(24 * time.Hour)
		return from, from.Add(24 * time.Hour)
	case strings.HasPrefix(string(per), "license"):
		for n := 0; ; n += months {
			if to = addMonths(m.first, n+months); to.After(at) {
				return addMonths(m.first, n), to
			}
		}
	}
	for from = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC); ; from = to {
		if to = addMonths(from, months); to.After(at) {
			return from, to
		}
	}
}

// key names a meter in the period of an instant.
func (m *model) key(meter string, at time.Time) string {
	from, _ := m.period(m.meters[meter].Per, at)
	return fmt.Sprint(meter, " ", from.UnixMilli())
}

// report counts reports that arrive at an instant, and returns how much each counted, or
// the code of the refusal.
func (m *model) report(now time.Time, valid bool, reports ...api.UsageReport) (counted []int64, refused api.Code) {
	before, usedBefore := map[string]known{}, map[string]int64{}
	for k, v := range m.known {
		before[k] = v
	}
	for k, v := range m.used {
		usedBefore[k] = v
	}
	asks := slices.ContainsFunc(reports, func(r api.UsageReport) bool { return r.At == nil })
	if asks && !valid {
		return nil, api.VerdictSuspended
	}
	for _, r := range reports {
		meter, has := m.meters[r.Meter]
		if !has {
			m.known, m.used = before, usedBefore
			return nil, api.VerdictMeterMissing
		}
		id, at := r.Meter+" "+r.ID, now
		if r.At != nil {
			at = *r.At
		}
		was := m.known[id]
		if now.Sub(was.at) >= 36*24*time.Hour {
			was = known{}
		}
		more := r.Total - was.total
		if more <= 0 {
			counted = append(counted, 0)
			continue
		}
		key := m.key(r.Meter, at)
		if r.At == nil && meter.Limit != nil && !meter.Soft && m.used[key]+more > *meter.Limit {
			m.known, m.used = before, usedBefore
			return nil, api.VerdictUsageLimit
		}
		m.known[id] = known{r.Total, now}
		m.used[key] += more
		counted = append(counted, more)
	}
	return counted, ""
}
