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
	byFingerprint *tree[store.Activation] // by fingerprint and license
	byLease       *tree[store.Activation] // those with no EndedAt, by license, LeaseEndsAt and ID

	events  *tree[store.Event] // by Seq
	lastSeq int64              // the last one given; never goes back

	entries         *tree[store.Entry] // by kind and key
	entriesByExpiry *tree[store.Entry] // those with ExpiresAt, by kind, ExpiresAt and key
}

// at returns the place of a row in a tree ordered by a time. The zero time
// comes before all others.
func at(group string, t time.Time, id string) place {
	return place{group: group, at: t.UnixMilli(), id: id}
}

// during returns the part of a tree ordered by a time that holds all rows of a
// group whose time is in r. It may hold rows that are not in r: those without the
// time, if r.OrNone is set, and those within a millisecond of a bound.
func during(name string, r store.TimeRange) span {
	s := group(name)
	if !r.OrNone && !r.IsZero() {
		s = s.since(at(name, time.Time{}.Add(time.Millisecond), "")) // after those without the time
	}
	if !r.OrNone && !r.From.IsZero() {
		s = s.since(at(name, r.From, ""))
	}
	if !r.Before.IsZero() {
		s = s.before(at(name, r.Before.Add(time.Millisecond), ""))
	}
	return s
}

// setLicense sets row, which is l or nil, at all places of l.
func (s *state) setLicense(l, row *store.License) {
	s.licenses = s.licenses.set(place{id: l.ID}, row)
	s.licensesByKey = s.licensesByKey.set(place{id: l.Key}, row)
	if !l.StartsAt.IsZero() {
		s.licensesByStart = s.licensesByStart.set(at("", l.StartsAt, l.ID), row)
	}
	if !l.ExpiresAt.IsZero() {
		s.licensesByExpiry = s.licensesByExpiry.set(at("", l.ExpiresAt, l.ID), row)
	}
}

// setActivation sets row, which is a or nil, at all places of a.
func (s *state) setActivation(a, row *store.Activation) {
	s.activations = s.activations.set(place{group: a.LicenseID, id: a.ID}, row)
	s.byFingerprint = s.byFingerprint.set(place{group: a.Fingerprint, id: a.LicenseID}, row)
	if a.EndedAt.IsZero() {
		s.byLease = s.byLease.set(at(a.LicenseID, a.LeaseEndsAt, a.ID), row)
	}
}

// setEntry sets row, which is e or nil, at all places of e.
func (s *state) setEntry(e, row *store.Entry) {
	s.entries = s.entries.set(place{group: e.Kind, id: e.Key}, row)
	if !e.ExpiresAt.IsZero() {
		s.entriesByExpiry = s.entriesByExpiry.set(at(e.Kind, e.ExpiresAt, e.Key), row)
	}
}
