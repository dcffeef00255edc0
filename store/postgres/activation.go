package postgres

import (
	"context"

	"github.com/seed-d8a106b4/licensekit/store"
)

// Activation reads by the unique fingerprint.
func (r reader) Activation(ctx context.Context, licenseID, fingerprint string) (store.Activation, error) {
	a, err := get[store.Activation](ctx, r, place{fingerprintAt, licenseID, fingerprint})
	return a, about(err, "activation of license %s by %q", licenseID, fingerprint)
}

// leaseEnd is the column of the index of leases, which sorts activations without
// a lease first.
const leaseEnd = "coalesce(a.lease_ends_at, -62135596800000)"

// Activations walks the license's part of the primary key or, of the activations
// that were not ended, that of an index, or a part of the index of fingerprints.
func (r reader) Activations(ctx context.Context, q store.ActivationQuery) ([]store.Activation, error) {
	s := from(activations)
	s.err = q.Check()
	s.part, s.touches = place{seatsAt, q.LicenseID, ""}, func(p place, _ any) bool {
		return p.kind == activationAt && (q.LicenseID == "" || q.LicenseID == p.a)
	}
	if q.FingerprintPrefix == "" {
		s.ofLicense(q)
	} else {
		s.part = place{kind: activationAt}
		s.byFingerprint(q)
	}
	found, err := list[store.Activation](ctx, r, s, q.Limit)
	return found, about(err, "activations of license %s", q.LicenseID)
}

// byFingerprint selects the activations of all licenses with a prefix of their
// fingerprints.
func (s *selection) byFingerprint(q store.ActivationQuery) {
	s.and("a.fingerprint >= ?", q.FingerprintPrefix)
	if end := store.PrefixEnd(q.FingerprintPrefix); end != "" {
		s.and("a.fingerprint < ?", end)
	}
	var after []any
	if q.AfterFingerprint != "" {
		after = []any{q.AfterFingerprint, q.AfterLicenseID}
	}
	s.order(false, after, "a.fingerprint", "a.license_id")
}

// ofLicense selects the activations of one license that q matches.
func (s *selection) ofLicense(q store.ActivationQuery) {
	s.and("a.license_id = ?", q.LicenseID)
	if !q.LiveAt.IsZero() {
		s.and("a.ended_at IS NULL AND (a.lease_ends_at IS NULL OR a.lease_ends_at > ?)", q.LiveAt.UnixMilli())
	}
	ends := q.LeaseEnds
	if ends.IsZero() {
		s.whole = q.LiveAt.IsZero() && q.After == ""
		s.order(false, after(q.After), "a.id")
		return
	}
	s.and("a.ended_at IS NULL")
	switch {
	case ends.OrNone && !ends.From.IsZero():
		s.and("(a.lease_ends_at IS NULL OR a.lease_ends_at >= ?)", ceiling(ends.From))
	case !ends.From.IsZero():
		s.and(leaseEnd+" >= ?", ceiling(ends.From))
	case !ends.OrNone:
		s.and(leaseEnd+" > ?", never)
	}
	if !ends.Before.IsZero() {
		s.and(leaseEnd+" < ?", ceiling(ends.Before))
	}
	s.order(false, nil, leaseEnd, "a.id")
}
