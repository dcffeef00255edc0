package license

import (
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

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
