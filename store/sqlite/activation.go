package sqlite

import (
	"context"

	"github.com/seed-d8a106b4/licensekit/store"
)

const activationColumns = `license_id, id, fingerprint, name, lease_ends_at, ended_at, end_reason, created_at, last_seen_at, metadata`

func scanActivation(r *row) store.Activation {
	return store.Activation{
		LicenseID: r.text(), ID: r.text(), Fingerprint: r.text(), Name: r.text(),
		LeaseEndsAt: r.time(), EndedAt: r.time(), EndReason: r.text(),
		CreatedAt: r.time(), LastSeenAt: r.time(), Metadata: r.bytes(),
	}
}

// Activation looks in the index of fingerprints.
func (r reader) Activation(ctx context.Context, licenseID, fingerprint string) (store.Activation, error) {
	a, err := one(ctx, r, scanActivation,
		`SELECT `+activationColumns+` FROM activation WHERE license_id = ? AND fingerprint = ?`, licenseID, fingerprint)
	return a, wrap(err, "activation of license %s by %q", licenseID, fingerprint)
}

// Activations walks the licence's part of the table.
func (r reader) Activations(ctx context.Context, q store.ActivationQuery) ([]store.Activation, error) {
	s := &selection{}
	s.add(`SELECT ` + activationColumns + ` FROM activation`)
	s.and(`license_id = ?`, q.LicenseID)
	s.beyond(`id`, q.After, false)
	if !q.LiveAt.IsZero() {
		s.and(`+ended_at IS NULL AND (+lease_ends_at IS NULL OR +lease_ends_at > ?)`, q.LiveAt.UnixMilli())
	}
	s.order(false, q.Limit, `id`)
	found, err := list(ctx, r, scanActivation, s)
	return found, wrap(err, "activations of license %s", q.LicenseID)
}

// CountActivations counts in the index of leases, so that seats which are free
// again cost nothing, however many there are.
func (r reader) CountActivations(ctx context.Context, q store.ActivationQuery) (int, error) {
	text, args := `SELECT count(*) FROM activation WHERE license_id = ?`, []any{q.LicenseID}
	if !q.LiveAt.IsZero() {
		const live = `SELECT count(*) FROM activation INDEXED BY activation_lease WHERE license_id = ?1 AND ended_at IS NULL AND `
		text = `SELECT (` + live + `lease_ends_at IS NULL) + (` + live + `lease_ends_at > ?2)`
		args = append(args, q.LiveAt.UnixMilli())
	}
	n, err := one(ctx, r, (*row).integer, text, args...)
	return int(n), wrap(err, "count activations of license %s", q.LicenseID)
}

// PutActivation tries first to replace all but the columns that identify a
// seat: renewing a lease, which is by far the most frequent, need not touch
// the index of fingerprints.
func (t *tx) PutActivation(ctx context.Context, a store.Activation) error {
	n, err := t.count(ctx, `
		UPDATE activation SET name = ?, lease_ends_at = ?, ended_at = ?, end_reason = ?, created_at = ?, last_seen_at = ?, metadata = ?
		WHERE license_id = ? AND id = ? AND fingerprint = ?`,
		a.Name, a.LeaseEndsAt, a.EndedAt, a.EndReason, a.CreatedAt, a.LastSeenAt, a.Metadata,
		a.LicenseID, a.ID, a.Fingerprint)
	if err == nil && n == 0 {
		_, err = t.exec(ctx, `
			INSERT INTO activation (`+activationColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT (license_id, id) DO UPDATE SET fingerprint = excluded.fingerprint, name = excluded.name,
				lease_ends_at = excluded.lease_ends_at, ended_at = excluded.ended_at, end_reason = excluded.end_reason,
				created_at = excluded.created_at, last_seen_at = excluded.last_seen_at, metadata = excluded.metadata`,
			a.LicenseID, a.ID, a.Fingerprint, a.Name, a.LeaseEndsAt, a.EndedAt, a.EndReason, a.CreatedAt, a.LastSeenAt, a.Metadata)
	}
	return wrap(err, "put activation %s of license %s", a.ID, a.LicenseID)
}

// DeleteActivation removes one row.
func (t *tx) DeleteActivation(ctx context.Context, licenseID, id string) error {
	err := t.change(ctx, `DELETE FROM activation WHERE license_id = ? AND id = ?`, licenseID, id)
	return wrap(err, "delete activation %s of license %s", id, licenseID)
}
