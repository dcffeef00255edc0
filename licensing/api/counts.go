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

// ExpiringSoon is the range of Counts.Expiring.
const ExpiringSoon = 30 * 24 * time.Hour
