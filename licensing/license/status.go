package license

import (
	"strconv"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

// A Status is the status of a license at an instant. It is derived from the
// stored state and the clock on every read; no background work changes it.
type Status string

// The statuses in order of precedence: a suspended license past its ExpiresAt
// is suspended. A license is expired from ExpiresAt, and scheduled before
// StartsAt.
const (
	StatusRevoked   Status = "revoked"
	StatusSuspended Status = "suspended"
	StatusExpired   Status = "expired"
	StatusScheduled Status = "scheduled"
	StatusActive    Status = "active"
)

var statuses = []Status{StatusRevoked, StatusSuspended, StatusExpired, StatusScheduled, StatusActive}

// statusAt derives the status of a stored license at an instant.
func statusAt(l store.License, at time.Time) Status {
	switch {
	case l.State == store.StateRevoked:
		return StatusRevoked
	case l.State == store.StateSuspended:
		return StatusSuspended
	case !l.ExpiresAt.IsZero() && !at.Before(l.ExpiresAt):
		return StatusExpired
	case !l.StartsAt.IsZero() && at.Before(l.StartsAt):
		return StatusScheduled
	}
	return StatusActive
}

// A Version identifies the state of a license. It changes with every change
// of the record and when the passage of time changes the status.
type Version struct {
	Revision int64
	Status   Status
}

// String returns v as in an ETag, such as "3.active".
func (v Version) String() string {
	return strconv.FormatInt(v.Revision, 10) + "." + string(v.Status)
}

// ParseVersion parses the form of [Version.String]. It returns false for
// anything else, such as a leading zero or an unknown status.
func ParseVersion(s string) (v Version, ok bool) {
	revision, status, _ := strings.Cut(s, ".")
	n, err := strconv.ParseInt(revision, 10, 64)
	if err != nil || n < 1 {
		return Version{}, false
	}
	v = Version{Revision: n, Status: Status(status)}
	for _, known := range statuses {
		if v.Status == known {
			return v, v.String() == s
		}
	}
	return Version{}, false
}
