package postgres

import (
	"cmp"
	"context"
	"database/sql"

	"github.com/seed-d8a106b4/licensekit/store"
)

const activationColumns = `a.license_id, a.id, a.fingerprint, a.lease_ends_at, a.ended_at, a.document`

func scanActivation(rows *sql.Rows) (a store.Activation, err error) {
	err = rows.Scan(&a.LicenseID, &a.ID, &a.Fingerprint, instant{&a.LeaseEndsAt}, instant{&a.EndedAt}, &a.Document)
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
	if err := q.Check(); err != nil {
		return nil, about(err, "activations")
	}
	if q.FingerprintPrefix != "" {
		found, err := page(ctx, r, scanActivation, byFingerprint(q), q.Limit)
		return found, about(err, "activations by fingerprint")
	}
	s := activations(q)
	if q.LeaseEnds.IsZero() {
		s.order(false, after(q.After), "a.id")
	} else {
		s.order(false, nil, leaseEnd, "a.id")
	}
	found, err := page(ctx, r, scanActivation, s, q.Limit)
	return found, about(err, "activations of license %s", q.LicenseID)
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

// activations begins a selection of what q matches.
func activations(q store.ActivationQuery) *selection {
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

// activationKinds are the kinds of activationColumns, for a recordset.
const activationKinds = "tttiid"

// PutActivations adds or replaces in one statement, which does nothing if a
// license is missing or another of its activations has a fingerprint. Several
// activations of which one changes what another one meets are put one by one.
func (t tx) PutActivations(ctx context.Context, activations ...store.Activation) error {
	rows := make([][]any, len(activations))
	ids, prints, licenses := map[[2]string]bool{}, map[[2]string]bool{}, map[string]bool{}
	for i, a := range activations {
		rows[i] = []any{a.LicenseID, a.ID, a.Fingerprint, millis(a.LeaseEndsAt), millis(a.EndedAt), document(a.Document)}
		ids[[2]string{a.LicenseID, a.ID}], prints[[2]string{a.LicenseID, a.Fingerprint}], licenses[a.LicenseID] = true, true, true
	}
	if len(ids) < len(rows) || len(prints) < len(rows) {
		return about(t.putInOrder(ctx, activations), "put %d activations", len(rows))
	}
	n, err := t.writeRows(ctx, rows, `
		WITH added (`+bare(activationColumns)+`) AS MATERIALIZED (`+recordset(activationKinds)+`)
		INSERT INTO licensing_activations (`+bare(activationColumns)+`)
		SELECT `+bare(activationColumns)+` FROM added
		WHERE $2 = (SELECT count(*) FROM licensing_licenses l WHERE l.id = ANY (ARRAY(SELECT license_id FROM added)))
		AND NOT EXISTS (
			SELECT FROM added a JOIN licensing_activations other
			ON other.license_id = a.license_id AND other.fingerprint = a.fingerprint AND other.id <> a.id)
		ON CONFLICT (license_id, id) DO UPDATE SET
			fingerprint = excluded.fingerprint, lease_ends_at = excluded.lease_ends_at,
			ended_at = excluded.ended_at, document = excluded.document`, int64(len(licenses)))
	refused := err == nil && int(n) < len(rows)
	if len(rows) != 1 {
		if refused {
			err = t.putInOrder(ctx, activations)
		}
		return about(err, "put %d activations", len(rows))
	}
	if refused {
		if _, err = t.License(ctx, activations[0].LicenseID); err == nil {
			err = store.ErrExists
		}
	}
	return about(err, "put activation %s of license %s", activations[0].ID, activations[0].LicenseID)
}

// putInOrder puts one activation after the other, or none if one is refused: one
// may take a fingerprint that an earlier one has given up.
func (t tx) putInOrder(ctx context.Context, activations []store.Activation) error {
	if _, err := t.write(ctx, "SAVEPOINT put"); err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx)
	for _, a := range activations {
		if err := t.PutActivations(ctx, a); err != nil {
			_, undone := t.write(ctx, "ROLLBACK TO SAVEPOINT put; RELEASE SAVEPOINT put")
			return cmp.Or(undone, err)
		}
	}
	_, err := t.write(ctx, "RELEASE SAVEPOINT put")
	return err
}

// DeleteActivations deletes by the primary key, all activations in one
// statement. It deletes none if one of them is missing.
func (t tx) DeleteActivations(ctx context.Context, licenseID string, ids ...string) error {
	err := t.remove(ctx, "licensing_activations", "license_id", licenseID, "id", ids, true)
	return about(err, "delete activations of license %s", licenseID)
}
