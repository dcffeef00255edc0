package dashboard

import (
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
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
	errNotDuration   = errors.New("not a duration")
	errAmbiguousUnit = errors.New("the unit m is ambiguous: enter min for minutes or mo for months")
	amountPattern    = regexp.MustCompile(`^(\d{1,8}) *([a-z]+) *`)
)

// parseAmounts reads numbers with units, such as "1d 12h" or "18 months", and
// calls add for each. It returns errAmbiguousUnit or errNotDuration.
func parseAmounts(s string, add func(n int64, u timeUnit)) error {
	s = strings.ToLower(strings.TrimSpace(s))
	if s == "" {
		return errNotDuration
	}
	for s != "" {
		m := amountPattern.FindStringSubmatch(s)
		if m == nil {
			return errNotDuration
		}
		if m[2] == "m" {
			return errAmbiguousUnit
		}
		n, _ := strconv.ParseInt(m[1], 10, 64) // at most eight digits, cannot overflow
		known := false
		for _, u := range timeUnits {
			if m[2] == u.short || m[2] == u.name || m[2] == u.name+"s" {
				known = true
				add(n, u)
			}
		}
		if !known {
			return errNotDuration
		}
		s = s[len(m[0]):]
	}
	return nil
}

// parseSeconds parses the output of describeSeconds and of amount: 0, or numbers
// with units, which it adds up.
func parseSeconds(s string) (total int64, err error) {
	if strings.TrimSpace(s) == "0" {
		return 0, nil
	}
	fixed := true
	err = parseAmounts(s, func(n int64, u timeUnit) {
		fixed = fixed && u.seconds > 0
		total += n * u.seconds
	})
	switch {
	case errors.Is(err, errAmbiguousUnit):
		return 0, err
	case err != nil:
		return 0, errors.New("enter a whole number and select its unit")
	case !fixed:
		return 0, errors.New("months and years are not allowed here: enter days")
	}
	return total, nil
}

// parseTerm parses a calendar duration: numbers with units, such as "1y 6mo" or
// "45 days", which it adds up, or an ISO 8601 duration, such as "P18M".
func parseTerm(s string) (d api.Duration, err error) {
	if iso := strings.ToUpper(strings.TrimSpace(s)); strings.HasPrefix(iso, "P") {
		d, err = license.ParseDuration(iso)
	} else {
		err = parseAmounts(s, func(n int64, u timeUnit) {
			part := map[string]*int{
				"y": &d.Years, "mo": &d.Months, "w": &d.Weeks, "d": &d.Days, "h": &d.Hours, "min": &d.Minutes, "s": &d.Seconds,
			}[u.short]
			*part += int(n)
		})
	}
	if errors.Is(err, errAmbiguousUnit) {
		return api.Duration{}, err
	}
	if err != nil || d.IsZero() {
		return api.Duration{}, errors.New("enter a whole number and select its unit")
	}
	return d, nil
}

// amountField returns a field for a number of seconds, as a number and a unit.
// The number can be empty.
func amountField(name, label, hint string, seconds *int64) *field {
	x := &field{Name: name, Label: label, Hint: hint, Type: "text"}
	chosen := fixedUnits[2] // minutes, for short leases
	if seconds != nil {
		chosen = fixedUnits[0]
		for *seconds%chosen.seconds != 0 {
			i := slices.Index(fixedUnits, chosen)
			chosen = fixedUnits[i+1]
		}
		x.Value = strconv.FormatInt(*seconds/chosen.seconds, 10)
	}
	for _, u := range fixedUnits {
		x.Units = append(x.Units, option{Value: u.short, Label: u.name + "s", Chosen: u == chosen})
	}
	return x
}

// termUnits returns the units of a calendar duration: years to days.
func termUnits() (units []option) {
	for _, u := range timeUnits[:4] {
		units = append(units, option{Value: u.short, Label: u.name + "s", Chosen: u.name == "month"})
	}
	return units
}

// termField returns a field for a calendar duration. A zero one is blank.
func termField(name, label, hint string, d api.Duration) *field {
	x := &field{Name: name, Label: label, Hint: hint, Type: "text", MaxLength: 60, Units: termUnits()}
	var texts []string
	eachPart(d, func(n int, u timeUnit) { texts = append(texts, strconv.Itoa(n)+u.short) })
	x.Value = strings.Join(texts, " ")
	for i, u := range x.Units {
		if n, ok := strings.CutSuffix(x.Value, u.Value); ok && len(texts) == 1 && strings.Trim(n, "0123456789") == "" {
			x.Value = n
			choose(x.Units, []string{x.Units[i].Value})
			break
		}
	}
	return x
}

// eachPart calls fn for the parts of a calendar duration that are not zero.
func eachPart(d api.Duration, fn func(n int, u timeUnit)) {
	for i, n := range []int{d.Years, d.Months, d.Weeks, d.Days, d.Hours, d.Minutes, d.Seconds} {
		if n != 0 {
			fn(n, timeUnits[i])
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
	var parts []string
	for _, u := range fixedUnits {
		if n >= u.seconds {
			parts = append(parts, count(int(n/u.seconds), u.name))
			n %= u.seconds
		}
	}
	if parts == nil {
		return "none"
	}
	return strings.Join(parts, " ")
}
