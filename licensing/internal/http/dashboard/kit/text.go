package kit

import (
	"errors"
	"html/template"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/seed-d8a106b4/licensekit/internal/dates"
	"github.com/seed-d8a106b4/licensekit/internal/inner"
)

// A Moment is a time formatted for a page: in UTC, as the footer says, and relative to now.
type Moment struct {
	ISO      string // for <time datetime>
	Date     string
	Clock    string
	Brief    string // the time of day without seconds or, if it is not today, the date
	Full     string
	Whole    string // with seconds and zone, for a title
	Relative string
}

// Moment formats t for a page. It returns nil for the zero time.
func (v *Visit) Moment(t time.Time) *Moment {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &Moment{
		ISO:      t.Format(time.RFC3339Nano),
		Date:     t.Format("2 Jan 2006"),
		Clock:    t.Format("15:04:05"),
		Brief:    brief(t, v.Opts.Now()),
		Full:     t.Format("2 Jan 2006, 15:04"),
		Whole:    t.Format("2 Jan 2006, 15:04:05") + " UTC",
		Relative: Relative(t.Sub(v.Opts.Now())),
	}
}

// MomentOf is moment for a time, or a pointer to one; nil: there is none.
func (v *Visit) MomentOf(t any) *Moment {
	if at, _ := t.(*time.Time); at != nil {
		return v.Moment(*at)
	}
	at, _ := t.(time.Time)
	return v.Moment(at)
}

// Zone is where the days of ends begin.
func (v *Visit) Zone() *time.Location { return inner.Of(v.Licenses).Call().Opts.TimeZone }

// EndOf is MomentOf for an end, which is shown by its last day.
func (v *Visit) EndOf(end *time.Time) *Moment {
	m := v.MomentOf(end)
	if m != nil {
		m.Date = dates.Last(*end, v.Zone()).Format("2 Jan 2006")
		m.Full, m.Brief = m.Date, m.Date
	}
	return m
}

// Relative formats a duration from now in one unit, such as "in 2 days".
func Relative(d time.Duration) string {
	past := d < 0
	if past {
		d = -d
	}
	if d < time.Minute {
		if past {
			return "just now"
		}
		return "in a moment"
	}
	const day = 24 * time.Hour
	n, unit := int(d.Round(time.Minute)/time.Minute), "minute"
	switch hours, days := d.Round(time.Hour)/time.Hour, int(d.Round(day)/day); {
	case days >= 730:
		n, unit = days/365, "year"
	case days >= 60:
		n, unit = days/30, "month"
	case hours >= 24:
		n, unit = days, "day"
	case n >= 60:
		n, unit = int(hours), "hour"
	}
	s := Count(n, unit)
	if d == math.MaxInt64 { // time.Sub knows no longer one
		s = "over " + s
	}
	if past {
		return s + " ago"
	}
	return "in " + s
}

// Count returns "1 day", "2 days", "1,000 days".
func Count(n int, unit string) string { return MatchCount{N: int64(n)}.Text(unit) }

// Breakable returns a text with places for line breaks after the separators of
// an e-mail address, a host name or an ID, so that none breaks within a word.
func Breakable(s string) template.HTML {
	return template.HTML(separators.Replace(template.HTMLEscapeString(s)))
}

var separators = strings.NewReplacer("@", "@<wbr>", ".", ".<wbr>", "_", "_<wbr>")

// timeLayouts are the formats of a time in UTC that forms accept. The first two
// are sent by browsers.
var timeLayouts = []string{"2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04:05", "2006-01-02 15:04", "2006-01-02", time.RFC3339Nano}

// FormatTime formats a time for a datetime-local input, with seconds.
func FormatTime(t *time.Time) string {
	if t == nil {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05")
}

func ParseTime(s string) (time.Time, error) {
	for _, form := range timeLayouts {
		if t, err := time.Parse(form, strings.TrimSpace(s)); err == nil && t.UTC().Year() >= 0 && t.UTC().Year() <= 9999 {
			return t.UTC(), nil
		}
	}
	return time.Time{}, errors.New("enter a date, or a date and time in UTC, such as 2030-01-31 or 2030-01-31 12:00")
}

// Sentence returns s with an initial capital and a final period.
func Sentence(s string) string {
	if s == "" {
		return s
	}
	_, n := utf8.DecodeRuneInString(s)
	s = strings.ToUpper(s[:n]) + s[n:]
	if !strings.HasSuffix(s, ".") {
		s += "."
	}
	return s
}

func SentenceCase(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// brief returns the time of day of t if that is today, and the date otherwise.
func brief(t, now time.Time) string {
	if now = now.UTC(); t.Truncate(24 * time.Hour).Equal(now.Truncate(24 * time.Hour)) {
		return t.Format("15:04")
	}
	return t.Format("2 Jan 2006")
}

// Verb returns the singular of a verb for 1, and the plural for other numbers.
func Verb(n int, singular, plural string) string {
	if n == 1 {
		return singular
	}
	return plural
}

// usageWeekly is the number of calls below which a chart shows them by week.
const usageWeekly = 200
