package forms

import (
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/kit"
)

// fixedUnits are the units that amount fields and describeSeconds use.
var fixedUnits = kit.TimeUnits[3:]

var (
	errNotDuration = errors.New("enter a whole number and select its unit")
	amountPattern  = regexp.MustCompile(`^(\d{1,8}) *([a-z]+) *`)
)

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
		unit := slices.IndexFunc(kit.TimeUnits, func(u kit.TimeUnit) bool { return m[2] == u.Short || m[2] == u.Name || m[2] == u.Name+"s" })
		if unit < 0 {
			return d, errNotDuration
		}
		n, _ := strconv.Atoi(m[1]) // at most eight digits, cannot overflow
		*kit.DurationParts(&d)[unit] += n
		s = s[len(m[0]):]
	}
	if !d.InBounds() {
		return d, errNotDuration
	}
	return d, nil
}

// ParseSeconds parses the output of describeSeconds and of amount: 0, or a duration
// without months and years.
func ParseSeconds(s string) (int64, error) {
	if strings.TrimSpace(s) == "0" {
		return 0, nil
	}
	d, err := parseDuration(s)
	if err == nil && (d.Years > 0 || d.Months > 0) {
		err = errors.New("months and years are not allowed here: enter days")
	}
	return d.AddTo(time.Unix(0, 0)).Unix(), err
}

// ParseTerm parses a calendar duration, which is not zero.
func ParseTerm(s string) (api.Duration, error) {
	d, err := parseDuration(s)
	if err == nil && d.IsZero() {
		err = errNotDuration
	}
	return d, err
}

// AmountField returns a field for a number of seconds, as a number and a unit.
// The number can be empty.
func AmountField(name, label, hint string, seconds *int64) *Field {
	x := &Field{Name: name, Label: label, Hint: hint, Type: "text", Parse: Parser(ParseSeconds)}
	chosen := fixedUnits[2] // minutes, for short leases
	if seconds != nil {
		chosen = fixedUnits[slices.IndexFunc(fixedUnits, func(u kit.TimeUnit) bool { return *seconds%u.Seconds == 0 })]
		x.Value = strconv.FormatInt(*seconds/chosen.Seconds, 10)
	}
	x.Units = unitOptions(fixedUnits, chosen.Short)
	return x
}

// unitOptions offers units, one of which is chosen.
func unitOptions(units []kit.TimeUnit, chosen string) []Option {
	return kit.Each(units, func(u kit.TimeUnit) Option {
		return Option{Value: u.Short, Label: u.Name + "s", Chosen: u.Short == chosen}
	})
}

// TermField returns a field for a calendar duration, in years to days. A zero one is
// blank.
func TermField(name, label, hint string, d api.Duration) *Field {
	x := &Field{Name: name, Label: label, Hint: hint, Type: "text", MaxLength: 60, Parse: Parser(ParseTerm)}
	unit, texts := "mo", []string(nil)
	kit.EachPart(d, func(n int, u kit.TimeUnit) { texts = append(texts, strconv.Itoa(n)+u.Short) })
	x.Value = strings.Join(texts, " ")
	if m := amountPattern.FindStringSubmatch(x.Value); len(texts) == 1 && slices.ContainsFunc(kit.TimeUnits[:4], func(u kit.TimeUnit) bool { return u.Short == m[2] }) {
		x.Value, unit = m[1], m[2]
	}
	x.Units = unitOptions(kit.TimeUnits[:4], unit)
	return x
}
