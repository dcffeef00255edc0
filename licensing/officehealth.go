package licensing

import (
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
)

// officeNotices are what Health says from some time before the end of the file of an
// office. A notice is for files that last at least twice as long.
var officeNotices = []struct {
	before time.Duration
	notice string
}{{30 * 24 * time.Hour, "ends within 30 days"}, {7 * 24 * time.Hour, "ends within 7 days"}, {24 * time.Hour, "ends within a day"}, {0, "has ended"}}

// officeEnding returns the newest notice for a file, and when the first was due; empty:
// none was.
func officeEnding(c *licensefile.Claims, now time.Time) (notice string, since time.Time) {
	for _, n := range officeNotices {
		at := c.ExpiresAt.Add(-n.before)
		if 2*n.before > c.ExpiresAt.Sub(c.IssuedAt) || now.Before(at) {
			continue
		}
		if notice = n.notice; since.IsZero() {
			since = at
		}
	}
	return notice, since
}
