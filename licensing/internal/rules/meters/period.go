package meters

import (
	"fmt"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/terms"
)

// A span is one period of a meter. Both ends are zero if the meter never starts again.
type span struct{ from, to time.Time }

// spanOf returns the period of a meter of l that an instant is in. Before the first month
// or year of a license, that is the first.
func spanOf(per api.MeterPeriod, l record.License, at time.Time) span {
	y, m, d := at.UTC().Date()
	day := func(y int, m time.Month, d int) time.Time { return time.Date(y, m, d, 0, 0, 0, 0, time.UTC) }
	switch per {
	case api.PerDay:
		return span{day(y, m, d), day(y, m, d+1)}
	case api.PerMonth:
		return span{day(y, m, 1), day(y, m+1, 1)}
	case api.PerYear:
		return span{day(y, 1, 1), day(y+1, 1, 1)}
	case api.PerLicenseMonth:
		return spanFrom(firstOf(l), 1, at)
	case api.PerLicenseYear:
		return spanFrom(firstOf(l), 12, at)
	case api.PerBillingMonth:
		return billingMonth(l, at)
	}
	return span{}
}

// firstOf returns when the first month of a license begins.
func firstOf(l record.License) time.Time {
	if l.StartsAt.IsZero() {
		return l.CreatedAt.UTC()
	}
	return l.StartsAt.UTC()
}

// spanFrom returns the period of some months that an instant is in. Each is computed from
// the first, so that the 31st stays the 31st.
func spanFrom(first time.Time, months int, at time.Time) span {
	nth := func(n int) time.Time { return terms.Capped(api.Duration{Months: n * months}.AddTo(first)) }
	n := max(0, ((at.Year()-first.Year())*12+int(at.Month())-int(first.Month()))/months)
	if n > 0 && nth(n).After(at) {
		n--
	}
	return span{nth(n), nth(n + 1)}
}

// billingMonth returns the month that an instant is in if one ends with the license. Each is
// computed from that end, so that the 31st stays the 31st. The first one begins with the
// license: when its end moves, as that of a trial does, it does not begin again.
func billingMonth(l record.License, at time.Time) (in span) {
	first, end := firstOf(l), l.ExpiresAt
	if end.IsZero() {
		end = l.UpdatesUntil
	}
	if end.IsZero() || terms.IsLast(end) {
		return spanFrom(first, 1, at)
	}
	end, at = end.UTC(), at.UTC()
	if at.Before(first) {
		at = first
	}
	nth := func(n int) time.Time { return terms.Capped(api.Duration{Months: n}.AddTo(end)) }
	n := (at.Year()-end.Year())*12 + int(at.Month()) - int(end.Month())
	if nth(n).After(at) {
		n--
	}
	if in = (span{nth(n), nth(n + 1)}); in.from.Before(first) {
		in.from = first
	}
	return in
}

// threshold returns the highest threshold of a limit that has been reached, in percent; 0:
// none.
func threshold(limit *int64, used int64) int64 {
	for _, percent := range []int64{100, 80} {
		if limit != nil && *limit > 0 && used >= (*limit*percent+99)/100 {
			return percent
		}
	}
	return 0
}

// Near reports whether the first threshold of a limit has been reached.
func Near(u api.MeterUse) bool { return threshold(u.Limit, u.Used) > 0 }

// useOf returns the public form of what was used of a meter in a period.
func useOf(name string, m api.Meter, in span, used int64) api.MeterUse {
	u := api.MeterUse{Name: name, Meter: m, Used: used, From: record.OptionalTime(in.from), ResetsAt: record.OptionalTime(in.to)}
	if m.Limit != nil {
		u.Remaining = new(max(0, *m.Limit-used))
	}
	return u
}

// limitReason says why more units of a meter are refused.
func limitReason(u api.MeterUse, more int64) api.Reason {
	detail := fmt.Sprintf("%d of %d %s are used, and the request needs %d more", u.Used, *u.Limit, u.Name, more)
	if u.ResetsAt != nil {
		detail += "; counting starts again at " + u.ResetsAt.Format(time.RFC3339)
	}
	return api.Reason{Code: api.VerdictUsageLimit, Detail: detail + "."}
}
