package license

import (
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/store"
)

// statusAt derives the status of a stored license at an instant.
func statusAt(l store.License, at time.Time) api.LicenseStatus {
	switch {
	case l.State == store.StateRevoked:
		return api.LicenseRevoked
	case l.State == store.StateSuspended:
		return api.LicenseSuspended
	case !l.ExpiresAt.IsZero() && !at.Before(l.ExpiresAt):
		return api.LicenseExpired
	case !l.StartsAt.IsZero() && at.Before(l.StartsAt):
		return api.LicenseScheduled
	}
	return api.LicenseActive
}
