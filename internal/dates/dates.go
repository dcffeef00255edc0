// Package dates reads and shows ends as people mean them: by their last day.
package dates

import "time"

// lastInstant is the last one that stores represent.
var lastInstant = time.Date(9999, 12, 31, 23, 59, 59, 999e6, time.UTC)

// Start returns when a day begins in a zone; false: the text is no date.
func Start(text string, zone *time.Location) (time.Time, bool) {
	day, err := time.Parse(time.DateOnly, text)
	return time.Date(day.Year(), day.Month(), day.Day(), 0, 0, 0, 0, zone).UTC(), err == nil
}

// End returns the end of the day that a person writes as the last one; false: the text is no
// date. The last day of the year 9999 ends with the last instant that stores represent.
func End(text string, zone *time.Location) (time.Time, bool) {
	day, err := time.Parse(time.DateOnly, text)
	if day = day.AddDate(0, 0, 1); day.Year() > 9999 {
		return lastInstant, err == nil
	}
	return time.Date(day.Year(), day.Month(), day.Day(), 0, 0, 0, 0, zone).UTC(), err == nil
}

// Last returns the last instant before an end, whose day in the zone is the last one. Of the
// last instant, it is that instant in UTC, because no zone may see the year 10000.
func Last(end time.Time, zone *time.Location) time.Time {
	if !end.Before(lastInstant) {
		return lastInstant
	}
	return end.Add(-time.Millisecond).In(zone)
}
