package api

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// A Duration is a calendar duration as in ISO 8601: a month is a calendar
// month, however many days it has. No part is negative.
type Duration struct {
	Years, Months, Weeks, Days, Hours, Minutes, Seconds int
}

// maxPart limits each part of a Duration to eight digits.
const maxPart = 99_999_999

// parts lists the ISO 8601 designators in order with the fields of d. The
// clock parts follow the "T".
func (d *Duration) parts() (calendar, clock []durationPart) {
	return []durationPart{{'Y', &d.Years}, {'M', &d.Months}, {'W', &d.Weeks}, {'D', &d.Days}},
		[]durationPart{{'H', &d.Hours}, {'M', &d.Minutes}, {'S', &d.Seconds}}
}

type durationPart struct {
	designator byte
	n          *int
}

var errDuration = errors.New(`must be an ISO 8601 duration such as "P1Y", "P6M" or "P30D"`)

// ParseDuration parses an ISO 8601 duration such as "P1Y6M", "P2W", "P30D"
// or "PT12H". It needs at least one part; parts are whole numbers of at most
// eight digits, in order, and weeks may be combined with other parts.
func ParseDuration(s string) (Duration, error) {
	var d Duration
	calendar, clock := d.parts()
	date, timeOfDay, hasTime := strings.Cut(strings.TrimPrefix(s, "P"), "T")
	ok := strings.HasPrefix(s, "P") && date+timeOfDay != "" && (!hasTime || timeOfDay != "") &&
		parseParts(date, calendar) && parseParts(timeOfDay, clock)
	if !ok {
		return Duration{}, errDuration
	}
	return d, nil
}

func parseParts(s string, parts []durationPart) bool {
	for _, part := range parts {
		digits := 0
		for digits < len(s) && s[digits] >= '0' && s[digits] <= '9' {
			digits++
		}
		if digits == 0 || digits == len(s) || s[digits] != part.designator {
			continue // part absent; malformed input leaves s non-empty
		}
		if digits > 8 {
			return false
		}
		for _, c := range []byte(s[:digits]) {
			*part.n = *part.n*10 + int(c-'0')
		}
		s = s[digits+1:]
	}
	return s == ""
}

// UnmarshalText implements [encoding.TextUnmarshaler]. It parses a nonzero
// ISO 8601 duration and returns a [*FieldError] otherwise.
func (d *Duration) UnmarshalText(text []byte) (err error) {
	const want = `must be a duration in the form of ISO 8601, and not zero, such as "P1Y", "P6M" or "P30D"`
	*d, err = ParseDuration(string(text))
	switch {
	case err != nil:
		return &FieldError{Code: FieldInvalidFormat, Detail: want}
	case d.IsZero():
		return &FieldError{Code: FieldOutOfRange, Detail: want}
	}
	return nil
}

// MarshalText implements [encoding.TextMarshaler] with the form of
// [Duration.String].
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// String formats d in ISO 8601 form without its zero parts.
func (d Duration) String() string {
	if d.IsZero() {
		return "PT0S"
	}
	calendar, clock := d.parts()
	s := "P" + formatParts(calendar)
	if t := formatParts(clock); t != "" {
		s += "T" + t
	}
	return s
}

func formatParts(parts []durationPart) (s string) {
	for _, part := range parts {
		if *part.n != 0 {
			s += fmt.Sprintf("%d%c", *part.n, part.designator)
		}
	}
	return s
}

// IsZero reports whether all parts of d are zero.
func (d Duration) IsZero() bool { return d == Duration{} }

// AddTo returns t plus d in UTC. It adds years and months first, moving a
// day the resulting month does not have to the last day of that month
// (January 31 plus one month is February 28 or 29; February 29 plus one year
// is February 28). Then it adds the remaining parts; a day is 24 hours.
func (d Duration) AddTo(t time.Time) time.Time {
	t = t.UTC()
	year, month, day := t.Date()
	months := int(month) - 1 + d.Months
	year += d.Years + months/12
	month = time.Month(months%12 + 1)
	last := time.Date(year, month+1, 0, 0, 0, 0, 0, time.UTC).Day()
	t = time.Date(year, month, min(day, last), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), time.UTC)

	hours := (int64(d.Weeks)*7+int64(d.Days))*24 + int64(d.Hours)
	seconds := (hours*60+int64(d.Minutes))*60 + int64(d.Seconds)
	return time.Unix(t.Unix()+seconds, int64(t.Nanosecond())).UTC()
}

// InBounds reports whether no part is negative or has more than eight digits.
func (d Duration) InBounds() bool {
	calendar, clock := d.parts()
	for _, part := range append(calendar, clock...) {
		if *part.n < 0 || *part.n > maxPart {
			return false
		}
	}
	return true
}
