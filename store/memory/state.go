package memory

import (
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

// A state is everything the store holds. Copying the struct copies it all.
type state struct {
	licenses         *tree[store.License] // by ID
	licensesByKey    *tree[store.License]
	licensesByStart  *tree[store.License] // those with StartsAt
	licensesByExpiry *tree[store.License] // those with ExpiresAt

	activations   *tree[store.Activation] // by license and ID
	byFingerprint *tree[store.Activation] // by license and fingerprint
	byLease       *tree[store.Activation] // those with no EndedAt, by license, LeaseEndsAt and ID

	events  *tree[store.Event] // by Seq
	lastSeq int64              // the last one given; never goes back

	entries         *tree[store.Entry] // by kind and key
	entriesByExpiry *tree[store.Entry] // those with ExpiresAt, by kind, ExpiresAt and key

}

// at returns the place of a row in a table ordered by a time. The zero time
// comes before all others.
func at(group string, t time.Time, id string) place {
	return place{group: group, at: t.UnixMilli(), id: id}
}

func (s *state) addLicense(l *store.License) {
	s.licenses = s.licenses.with(place{id: l.ID}, l)
	s.licensesByKey = s.licensesByKey.with(place{id: l.Key}, l)
	if !l.StartsAt.IsZero() {
		s.licensesByStart = s.licensesByStart.with(at("", l.StartsAt, l.ID), l)
	}
	if !l.ExpiresAt.IsZero() {
		s.licensesByExpiry = s.licensesByExpiry.with(at("", l.ExpiresAt, l.ID), l)
	}
}

func (s *state) removeLicense(l *store.License) {
	s.licenses = s.licenses.without(place{id: l.ID})
	s.licensesByKey = s.licensesByKey.without(place{id: l.Key})
	s.licensesByStart = s.licensesByStart.without(at("", l.StartsAt, l.ID))
	s.licensesByExpiry = s.licensesByExpiry.without(at("", l.ExpiresAt, l.ID))
}

func (s *state) addActivation(a *store.Activation) {
	s.activations = s.activations.with(place{group: a.LicenseID, id: a.ID}, a)
	s.byFingerprint = s.byFingerprint.with(place{group: a.LicenseID, id: a.Fingerprint}, a)
	if a.EndedAt.IsZero() {
		s.byLease = s.byLease.with(at(a.LicenseID, a.LeaseEndsAt, a.ID), a)
	}
}

func (s *state) removeActivation(a *store.Activation) {
	s.activations = s.activations.without(place{group: a.LicenseID, id: a.ID})
	s.byFingerprint = s.byFingerprint.without(place{group: a.LicenseID, id: a.Fingerprint})
	s.byLease = s.byLease.without(at(a.LicenseID, a.LeaseEndsAt, a.ID))
}

func (s *state) addEntry(e *store.Entry) {
	s.entries = s.entries.with(place{group: e.Kind, id: e.Key}, e)
	if !e.ExpiresAt.IsZero() {
		s.entriesByExpiry = s.entriesByExpiry.with(at(e.Kind, e.ExpiresAt, e.Key), e)
	}
}

func (s *state) removeEntry(e *store.Entry) {
	s.entries = s.entries.without(place{group: e.Kind, id: e.Key})
	s.entriesByExpiry = s.entriesByExpiry.without(at(e.Kind, e.ExpiresAt, e.Key))
}
