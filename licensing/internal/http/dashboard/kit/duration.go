package kit

import (
	"strings"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// A TimeUnit is a unit of a duration in a form.
type TimeUnit struct {
	Short   string // as in "14d", "90min" or "18mo"
	Name    string
	Seconds int64 // 0 for a month or a year, which has no fixed length
}

// TimeUnits are the units of all forms, largest first. The unit m is missing
// because it could mean minutes or months.
var TimeUnits = []TimeUnit{
	{"y", "year", 0}, {"mo", "month", 0}, {"w", "week", 7 * 86400},
	{"d", "day", 86400}, {"h", "hour", 3600}, {"min", "minute", 60}, {"s", "second", 1},
}

// DurationParts returns the parts of a duration, in the order of TimeUnits.
func DurationParts(d *api.Duration) []*int {
	return []*int{&d.Years, &d.Months, &d.Weeks, &d.Days, &d.Hours, &d.Minutes, &d.Seconds}
}

// EachPart calls fn for the parts of a calendar duration that are not zero.
func EachPart(d api.Duration, fn func(n int, u TimeUnit)) {
	for i, n := range DurationParts(&d) {
		if *n != 0 {
			fn(*n, TimeUnits[i])
		}
	}
}

// DescribeTerm formats a calendar duration in words: "1 year 6 months".
func DescribeTerm(d api.Duration) string {
	var parts []string
	EachPart(d, func(n int, u TimeUnit) { parts = append(parts, Count(n, u.Name)) })
	if parts == nil {
		return "no expiry"
	}
	return strings.Join(parts, " ")
}

// describeSeconds formats a duration in words: "14 days", "1 day 12 hours".
func describeSeconds(n int64) string {
	if n <= 0 {
		return "none"
	}
	return DescribeTerm(api.Duration{Days: int(n / 86400), Hours: int(n / 3600 % 24), Minutes: int(n / 60 % 60), Seconds: int(n % 60)})
}
