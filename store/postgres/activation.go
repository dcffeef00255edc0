package postgres

import (
	"context"
	"database/sql"

	"github.com/seed-d8a106b4/licensekit/store"
)

const activationColumns = `a.license_id, a.id, a.fingerprint, a.name,
	a.lease_ends_at, a.ended_at, a.end_reason, a.created_at, a.last_seen_at, a.metadata`

func scanActivation(rows *sql.Rows) (a store.Activation, err error) {
	err = rows.Scan(&a.LicenseID, &a.ID, &a.Fingerprint, &a.Name,
		instant{&a.LeaseEndsAt}, instant{&a.EndedAt}, &a.EndReason, instant{&a.CreatedAt}, instant{&a.LastSeenAt}, &a.Metadata)
	return a, err
}

// Activation reads by the unique fingerprint.
func (r reader) Activation(ctx context.Context, licenseID, fingerprint string) (store.Activation, error) {
	a, err := one(ctx, r, scanActivation, `SELECT `+activationColumns+` FROM licensing_activation a
		WHERE a.license_id = $1 AND a.fingerprint = $2`, licenseID, fingerprint)
	return a, about(err, "activation of license %s by %q", licenseID, fingerprint)
}

// leaseEnd is the column of the index of leases, which sorts activations without
// a lease first.
const leaseEnd = "coalesce(a.lease_ends_at, -62135596800000)"

// Activations walks the license's part of the primary key or, of the activations
// that were not ended, that of an index.
func (r reader) Activations(ctx context.Context, q store.ActivationQuery) ([]store.Activation, error) {
	s := activations(activationColumns, q)
	if q.LeaseEnds.IsZero() {
		s.order(false, after(q.After), "a.id")
	} else {
		s.order(false, nil, leaseEnd, "a.id")
	}
	found, err := page(ctx, r, scanActivation, s, q.Limit)
	return found, about(err, "activations of license %s", q.LicenseID)
}

// CountActivations walks what Activations does.
func (r reader) CountActivations(ctx context.Context, q store.ActivationQuery) (int, error) {
	s := activations("count(*)", q)
	n, err := one(ctx, r, scanInt, s.text(), s.args...)
	return int(n), about(err, "count activations of license %s", q.LicenseID)
}

// activations begins a selection of what q matches.
func activations(columns string, q store.ActivationQuery) *selection {
	s := from(columns, "licensing_activation a")
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

// PutActivation adds or replaces in one statement, which does nothing if there
// is no such license or another seat of it has the fingerprint.
func (t tx) PutActivation(ctx context.Context, a store.Activation) error {
	n, err := t.write(ctx, `
		INSERT INTO licensing_activation
		SELECT l.id, $2::text, $3::text, $4::text, $5::bigint, $6::bigint, $7::text, $8::bigint, $9::bigint, $10::bytea
		FROM licensing_license l
		WHERE l.id = $1 AND NOT EXISTS (
			SELECT FROM licensing_activation other
			WHERE other.license_id = $1 AND other.fingerprint = $3::text AND other.id <> $2::text)
		ON CONFLICT (license_id, id) DO UPDATE SET
			fingerprint = excluded.fingerprint, name = excluded.name, lease_ends_at = excluded.lease_ends_at,
			ended_at = excluded.ended_at, end_reason = excluded.end_reason, created_at = excluded.created_at,
			last_seen_at = excluded.last_seen_at, metadata = excluded.metadata`,
		a.LicenseID, a.ID, a.Fingerprint, a.Name, millis(a.LeaseEndsAt), millis(a.EndedAt), a.EndReason,
		millis(a.CreatedAt), millis(a.LastSeenAt), document(a.Metadata))
	if err == nil && n == 0 {
		if _, err = t.License(ctx, a.LicenseID); err == nil {
			err = store.ErrExists
		}
	}
	return about(err, "put activation %s of license %s", a.ID, a.LicenseID)
}

// DeleteActivation deletes by the primary key.
func (t tx) DeleteActivation(ctx context.Context, licenseID, id string) error {
	n, err := t.write(ctx, `DELETE FROM licensing_activation WHERE license_id = $1 AND id = $2`, licenseID, id)
	if err == nil && n == 0 {
		err = store.ErrNotFound
	}
	return about(err, "delete activation %s of license %s", id, licenseID)
}
