package dashboard

import (
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// A timeUnit is a unit of a duration in a form.
type timeUnit struct {
	short   string // as in "14d", "90min" or "18mo"
	name    string
	seconds int64 // 0 for a month or a year, which has no fixed length
}

// timeUnits are the units of all forms, largest first. The unit m is missing
// because it could mean minutes or months.
var timeUnits = []timeUnit{
	{"y", "year", 0}, {"mo", "month", 0}, {"w", "week", 7 * 86400},
	{"d", "day", 86400}, {"h", "hour", 3600}, {"min", "minute", 60}, {"s", "second", 1},
}

// fixedUnits are the units that amount fields and describeSeconds use.
var fixedUnits = timeUnits[3:]

var (
	errNotDuration = errors.New("enter a whole number and select its unit")
	amountPattern  = regexp.MustCompile(`^(\d{1,8}) *([a-z]+) *`)
)

// durationParts returns the parts of a duration, in the order of timeUnits.
func durationParts(d *api.Duration) []*int {
	return []*int{&d.Years, &d.Months, &d.Weeks, &d.Days, &d.Hours, &d.Minutes, &d.Seconds}
}

// parseDuration parses numbers with units, such as "1y 6mo" or "45 days", which it adds
// up, or an ISO 8601 duration, such as "P18M".
func parseDuration(s string) (d api.Duration, err error) {
	s = strings.ToLower(strings.TrimSpace(s))
	if strings.HasPrefix(s, "p") {
		if d, err = api.ParseDuration(strings.ToUpper(s)); err != nil {
			err = errNotDuration
		}
		return d, err
	}
	for ok := true; ok; ok = s != "" {
		m := amountPattern.FindStringSubmatch(s)
		if m == nil {
			return d, errNotDuration
		}
		if m[2] == "m" {
			return d, errors.New("the unit m is ambiguous: enter min for minutes or mo for months")
		}
		unit := slices.IndexFunc(timeUnits, func(u timeUnit) bool { return m[2] == u.short || m[2] == u.name || m[2] == u.name+"s" })
		if unit < 0 {
			return d, errNotDuration
		}
		n, _ := strconv.Atoi(m[1]) // at most eight digits, cannot overflow
		*durationParts(&d)[unit] += n
		s = s[len(m[0]):]
	}
	if !d.InBounds() {
		return d, errNotDuration
	}
	return d, nil
}

// parseSeconds parses the output of describeSeconds and of amount: 0, or a duration
// without months and years.
func parseSeconds(s string) (int64, error) {
	if strings.TrimSpace(s) == "0" {
		return 0, nil
	}
	d, err := parseDuration(s)
	if err == nil && (d.Years > 0 || d.Months > 0) {
		err = errors.New("months and years are not allowed here: enter days")
	}
	return d.AddTo(time.Unix(0, 0)).Unix(), err
}

// parseTerm parses a calendar duration, which is not zero.
func parseTerm(s string) (api.Duration, error) {
	d, err := parseDuration(s)
	if err == nil && d.IsZero() {
		err = errNotDuration
	}
	return d, err
}

// amountField returns a field for a number of seconds, as a number and a unit.
// The number can be empty.
func amountField(name, label, hint string, seconds *int64) *field {
	x := &field{Name: name, Label: label, Hint: hint, Type: "text", parse: parser(parseSeconds)}
	chosen := fixedUnits[2] // minutes, for short leases
	if seconds != nil {
		chosen = fixedUnits[slices.IndexFunc(fixedUnits, func(u timeUnit) bool { return *seconds%u.seconds == 0 })]
		x.Value = strconv.FormatInt(*seconds/chosen.seconds, 10)
	}
	x.Units = unitOptions(fixedUnits, chosen.short)
	return x
}

// unitOptions offers units, one of which is chosen.
func unitOptions(units []timeUnit, chosen string) []option {
	return each(units, func(u timeUnit) option { return option{Value: u.short, Label: u.name + "s", Chosen: u.short == chosen} })
}

// termField returns a field for a calendar duration, in years to days. A zero one is
// blank.
func termField(name, label, hint string, d api.Duration) *field {
	x := &field{Name: name, Label: label, Hint: hint, Type: "text", MaxLength: 60, parse: parser(parseTerm)}
	unit, texts := "mo", []string(nil)
	eachPart(d, func(n int, u timeUnit) { texts = append(texts, strconv.Itoa(n)+u.short) })
	x.Value = strings.Join(texts, " ")
	if m := amountPattern.FindStringSubmatch(x.Value); len(texts) == 1 && slices.ContainsFunc(timeUnits[:4], func(u timeUnit) bool { return u.short == m[2] }) {
		x.Value, unit = m[1], m[2]
	}
	x.Units = unitOptions(timeUnits[:4], unit)
	return x
}

// eachPart calls fn for the parts of a calendar duration that are not zero.
func eachPart(d api.Duration, fn func(n int, u timeUnit)) {
	for i, n := range durationParts(&d) {
		if *n != 0 {
			fn(*n, timeUnits[i])
		}
	}
}

// describeTerm formats a calendar duration in words: "1 year 6 months".
func describeTerm(d api.Duration) string {
	var parts []string
	eachPart(d, func(n int, u timeUnit) { parts = append(parts, count(n, u.name)) })
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
	return describeTerm(api.Duration{Days: int(n / 86400), Hours: int(n / 3600 % 24), Minutes: int(n / 60 % 60), Seconds: int(n % 60)})
}
