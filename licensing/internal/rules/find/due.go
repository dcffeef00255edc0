package find

import (
	"slices"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/purchases"
	"github.com/seed-d8a106b4/licensekit/store"
)

// DueSoon returns today and the next 30 days, in UTC: what ends then is due.
func DueSoon(now time.Time) store.TimeRange {
	today := now.UTC().Truncate(24 * time.Hour)
	return store.TimeRange{From: today, Before: today.AddDate(0, 0, 31)}
}

// EndsOf returns what a license will need a renewal for, the earliest first: its end or,
// without one, that of its updates, and those of the purchases that it outlives. It is the
// rule of license.expiring. A trial has none.
func EndsOf(l api.License) (ends []time.Time) {
	if IsTrial(l.Reference) {
		return nil
	}
	for _, c := range l.Upcoming {
		if c.EndsAt != nil {
			ends = append(ends, *c.EndsAt)
		}
	}
	switch {
	case l.ExpiresAt != nil:
		ends = append(ends, *l.ExpiresAt)
	case l.UpdatesUntil != nil:
		ends = append(ends, *l.UpdatesUntil)
	}
	slices.SortFunc(ends, time.Time.Compare)
	return slices.CompactFunc(ends, time.Time.Equal)
}

// IsTrial reports whether a reference is that of a trial.
func IsTrial(reference string) bool { return strings.HasPrefix(reference, purchases.TrialPrefix) }

// isDue reports whether a license is in force and something of it ends soon.
func isDue(l api.License, now time.Time) bool {
	if l.Status == api.LicenseRevoked || Lapsed(l, now) {
		return false
	}
	return slices.ContainsFunc(EndsOf(l), DueSoon(now).Contains)
}

// Lapsed reports whether the grace period of a license has ended.
func Lapsed(l api.License, now time.Time) bool {
	return l.ExpiresAt != nil && !now.Before(call.GraceEnd(l))
}
