package api

import "time"

// Counts are numbers of licenses at one instant.
type Counts struct {
	At    time.Time
	Total int64
	// ByStatus counts licenses by status.
	ByStatus map[LicenseStatus]int64
	// Expiring counts licenses that are neither suspended nor revoked and
	// expire within [ExpiringSoon] after At.
	Expiring int64
	// AtLeast: there can be more licenses, because a search stopped before its end.
	AtLeast bool
}

// A Figure is the count of one day or week in UTC.
type Figure struct {
	From time.Time // start of the day or week
	N    int64
}

// An Overview holds the counts of all licenses and their charts.
type Overview struct {
	Counts
	// Issued counts the existing licenses created on each of the last 365
	// days, oldest first and today last. The time is that in the
	// ID, from which the CreatedAt of a license that was imported with its ID
	// can differ.
	Issued []Figure
	// Ending counts licenses, neither suspended nor revoked, that expire in
	// each of 53 weeks, this week first. Weeks start on Monday.
	Ending []Figure
}

// ExpiringSoon is the range of Counts.Expiring.
const ExpiringSoon = 30 * 24 * time.Hour
