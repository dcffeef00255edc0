package postgres

import (
	"context"
	"database/sql"

	"github.com/seed-d8a106b4/licensekit/store"
)

const activationColumns = `a.license_id, a.id, a.fingerprint, a.lease_ends_at, a.ended_at, a.document`

func scanActivation(rows *sql.Rows, more ...any) (a store.Activation, err error) {
	err = rows.Scan(append([]any{&a.LicenseID, &a.ID, &a.Fingerprint, instant{&a.LeaseEndsAt}, instant{&a.EndedAt}, &a.Document}, more...)...)
	return a, err
}

// Activation reads by the unique fingerprint.
func (r reader) Activation(ctx context.Context, licenseID, fingerprint string) (store.Activation, error) {
	a, err := one(ctx, r, scanActivation, `SELECT `+activationColumns+` FROM licensing_activations a
		WHERE a.fingerprint = $1 AND a.license_id = $2`, fingerprint, licenseID)
	return a, about(err, "activation of license %s by %q", licenseID, fingerprint)
}

// leaseEnd is the column of the index of leases, which sorts activations without
// a lease first.
const leaseEnd = "coalesce(a.lease_ends_at, -62135596800000)"

// Activations walks the license's part of the primary key or, of the activations
// that were not ended, that of an index, or a part of the index of fingerprints.
func (r reader) Activations(ctx context.Context, q store.ActivationQuery) ([]store.Activation, error) {
	s, err := selectActivations(q)
	if err != nil {
		return nil, about(err, "activations")
	}
	found, err := page(ctx, r, scanActivation, s, q.Limit)
	return found, about(err, "activations of license %s", q.LicenseID)
}

// selectActivations returns the selection of a list.
func selectActivations(q store.ActivationQuery) (*selection, error) {
	if err := q.Check(); err != nil {
		return nil, err
	}
	if q.FingerprintPrefix != "" {
		return byFingerprint(q), nil
	}
	s := ofLicense(q)
	if q.LeaseEnds.IsZero() {
		s.order(false, after(q.After), "a.id")
	} else {
		s.order(false, nil, leaseEnd, "a.id")
	}
	return s, nil
}

// byFingerprint selects the activations of all licenses with a prefix of their
// fingerprints.
func byFingerprint(q store.ActivationQuery) *selection {
	s := from(activationColumns, "licensing_activations a")
	s.and("a.fingerprint >= ?", q.FingerprintPrefix)
	if end := store.PrefixEnd(q.FingerprintPrefix); end != "" {
		s.and("a.fingerprint < ?", end)
	}
	var after []any
	if q.AfterFingerprint != "" {
		after = []any{q.AfterFingerprint, q.AfterLicenseID}
	}
	s.order(false, after, "a.fingerprint", "a.license_id")
	return s
}

// ofLicense begins a selection of what q matches.
func ofLicense(q store.ActivationQuery) *selection {
	s := from(activationColumns, "licensing_activations a")
	s.and("a.license_id = ?", q.LicenseID)
	if !q.LiveAt.IsZero() {
		s.and("a.ended_at IS NULL AND (a.lease_ends_at IS NULL OR a.lease_ends_at > ?)", q.LiveAt.UnixMilli())
	}
	ends := q.LeaseEnds
	if ends.IsZero() {
		return s
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
	return s
}
