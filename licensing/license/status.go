package license

import (
	"strconv"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

// A Status is what a license is at an instant. It is derived on every read
// from the stored state and the clock; nothing needs to run for it to change.
type Status string

// The statuses, the strongest first: a suspended license whose time has
// passed is suspended. A license is expired from its ExpiresAt on, and
// scheduled until its StartsAt.
const (
	StatusRevoked   Status = "revoked"
	StatusSuspended Status = "suspended"
	StatusExpired   Status = "expired"
	StatusScheduled Status = "scheduled"
	StatusActive    Status = "active"
)

// Statuses returns every status, the strongest first.
func Statuses() []Status {
	return []Status{StatusRevoked, StatusSuspended, StatusExpired, StatusScheduled, StatusActive}
}

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

// A Version names what a license looked like: it changes with every change of
// the record, and when the clock changes the status.
type Version struct {
	Revision int64
	Status   Status
}

// String returns v as in an entity tag: "3.active".
func (v Version) String() string {
	return strconv.FormatInt(v.Revision, 10) + "." + string(v.Status)
}

// ParseVersion reads what [Version.String] writes. Anything else, such as a
// leading zero or an unknown status, is not ok.
func ParseVersion(s string) (v Version, ok bool) {
	revision, status, _ := strings.Cut(s, ".")
	n, err := strconv.ParseInt(revision, 10, 64)
	if err != nil || n < 1 {
		return Version{}, false
	}
	v = Version{Revision: n, Status: Status(status)}
	for _, known := range Statuses() {
		if v.Status == known {
			return v, v.String() == s
		}
	}
	return Version{}, false
}
