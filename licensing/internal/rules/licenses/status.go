package licenses

import (
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/terms"
	"github.com/seed-d8a106b4/licensekit/store"
)

// StatusAt derives the status of a stored license at an instant.
func StatusAt(l store.License, at time.Time) api.LicenseStatus {
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

// InGrace reports whether a license that was just read is in its grace period, so
// that a list needs no verdict of each.
func (s Service) InGrace(l api.License) bool {
	return l.Status == api.LicenseExpired && s.Now().Before(call.GraceEnd(l))
}

// GraceEnd returns when an expiring license stops being valid.
func GraceEnd(l record.License) time.Time {
	return terms.GraceEnd(l.ExpiresAt, l.GraceSeconds)
}
