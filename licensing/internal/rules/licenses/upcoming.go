package licenses

import (
	"bytes"
	"slices"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
)

// upcoming returns what a caller sees of the changes to come.
func upcoming(rec record.License) ([]api.UpcomingChange, error) {
	changes, err := ChangesOf(rec)
	if err != nil {
		return nil, err
	}
	var shown []api.UpcomingChange
	for _, c := range changes {
		if !c.Visible() {
			continue
		}
		u := api.UpcomingChange{
			At: c.At, ExpiresAt: toInstant(c.ExpiresAt), GraceSeconds: c.GraceSeconds, MaxActivations: toCount(c.MaxActivations),
			LeaseSeconds: toCount(c.LeaseSeconds), OfflineSeconds: toCount(c.OfflineSeconds), UpdatesUntil: toInstant(c.UpdatesUntil),
			Entitlements: c.Entitlements, Meters: c.Meters,
		}
		if outlives(rec, c) {
			u.EndsAt = &c.Ends
		}
		record.Set(&u.PlanID, c.PlanID)
		record.Set(&u.Reference, c.Reference)
		shown = append(shown, u)
	}
	return shown, nil
}

func toInstant(t *time.Time) api.Change[time.Time] {
	if t != nil && t.IsZero() {
		return api.ToNull[time.Time]()
	}
	return api.ToOptional(t)
}

func toCount(n *int64) api.Change[int64] {
	if n != nil && *n < 0 {
		return api.ToNull[int64]()
	}
	return api.ToOptional(n)
}

func sameUpcoming(a, b []api.UpcomingChange) bool {
	return len(a) == len(b) && (len(a) == 0 || slices.EqualFunc(a, b, func(a, b api.UpcomingChange) bool {
		return bytes.Equal(record.Encode(a), record.Encode(b))
	}))
}
