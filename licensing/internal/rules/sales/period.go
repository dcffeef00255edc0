package sales

import "time"

// A Period is a range of days in UTC.
type Period struct {
	Name     string    // such as "last-week"
	From, To time.Time // To is the day after the last
}

// PeriodNames are the periods that a report may be about, the default first.
var PeriodNames = []string{"week", "last-week", "month", "last-month", "quarter", "last-quarter", "year"}

// PeriodOf returns the period with a name at an instant, and the one before it. Weeks
// begin on Monday. The period "year" is the last twelve months.
func PeriodOf(name string, now time.Time) (p, before Period) {
	today := now.UTC().Truncate(24 * time.Hour)
	monday := today.AddDate(0, 0, -(int(today.Weekday())+6)%7)
	first := today.AddDate(0, 0, 1-today.Day())
	switch name {
	case "week":
		return Period{name, monday, monday.AddDate(0, 0, 7)}, Period{"last-week", monday.AddDate(0, 0, -7), monday}
	case "last-week":
		_, last := PeriodOf("week", now)
		return last, Period{"", last.From.AddDate(0, 0, -7), last.From}
	case "month":
		return Period{name, first, first.AddDate(0, 1, 0)}, Period{"last-month", first.AddDate(0, -1, 0), first}
	case "last-month":
		_, last := PeriodOf("month", now)
		return last, Period{"", last.From.AddDate(0, -1, 0), last.From}
	case "quarter":
		from := first.AddDate(0, -(int(first.Month())-1)%3, 0)
		return Period{name, from, from.AddDate(0, 3, 0)}, Period{"last-quarter", from.AddDate(0, -3, 0), from}
	case "last-quarter":
		_, last := PeriodOf("quarter", now)
		return last, Period{"", last.From.AddDate(0, -3, 0), last.From}
	}
	tomorrow := today.AddDate(0, 0, 1)
	from := tomorrow.AddDate(-1, 0, 0)
	return Period{"year", from, tomorrow}, Period{"", from.AddDate(-1, 0, 0), from}
}

// Contains reports whether the period has a day, such as "2026-11-28".
func (p Period) Contains(day string) bool {
	return day >= p.From.Format(time.DateOnly) && day < p.To.Format(time.DateOnly)
}

// Last returns the last day.
func (p Period) Last() time.Time { return p.To.AddDate(0, 0, -1) }
