package call

import (
	"maps"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// NoteTerms adds the terms in which two states of a license or a plan differ.
func NoteTerms(c Changes, before, after api.Terms) {
	Note(c, "grace_seconds", before.GraceSeconds == after.GraceSeconds, before.GraceSeconds, after.GraceSeconds)
	Note(c, "max_activations", SameCount(before.MaxActivations, after.MaxActivations), before.MaxActivations, after.MaxActivations)
	Note(c, "lease_seconds", SameCount(before.LeaseSeconds, after.LeaseSeconds), before.LeaseSeconds, after.LeaseSeconds)
	Note(c, "offline_seconds", SameCount(before.OfflineSeconds, after.OfflineSeconds), before.OfflineSeconds, after.OfflineSeconds)
	Note(c, "entitlements", maps.Equal(before.Entitlements, after.Entitlements), before.Entitlements, after.Entitlements)
	Note(c, "meters", maps.EqualFunc(before.Meters, after.Meters, sameMeter), before.Meters, after.Meters)
}

type Changes map[string]api.FieldChange

// Note adds a field that is not the same. It makes interfaces of no others.
func Note[T any](c Changes, name string, same bool, from, to T) {
	if !same {
		c[name] = api.FieldChange{From: from, To: to}
	}
}

func SameTime(a, b *time.Time) bool { return TimeOrZero(a).Equal(TimeOrZero(b)) }

func SameCount(a, b *int64) bool { return CountOrNegative(a) == CountOrNegative(b) }
