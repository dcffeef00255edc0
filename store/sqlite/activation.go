package sqlite

import (
	"cmp"
	"context"
	"time"
	"unicode/utf8"

	"github.com/seed-d8a106b4/licensekit/store"
)

const activationColumns = `license_id, id, fingerprint, lease_ends_at, ended_at, document`

var (
	selectActivations       = `SELECT ` + results(``, activationColumns) + ` FROM activations`
	activationByFingerprint = selectActivations + ` WHERE fingerprint = ? AND license_id = ?`
)

func scanActivation(r *row) store.Activation {
	return store.Activation{
		LicenseID: r.text(), ID: r.text(), Fingerprint: r.text(),
		LeaseEndsAt: r.time(), EndedAt: r.time(), Document: r.bytes(),
	}
}

// Activation looks in the index of fingerprints.
func (r reader) Activation(ctx context.Context, licenseID, fingerprint string) (store.Activation, error) {
	a, err := one(ctx, r, scanActivation, activationByFingerprint, fingerprint, licenseID)
	return a, wrap(err, "activation of license %s by %q", licenseID, fingerprint)
}

// leaseEnd is the column of the index of leases: it sorts activations without a
// lease first, and makes every range of ends one part of the index.
const leaseEnd = `coalesce(lease_ends_at, -62135596800000)`

// Activations walks the license's part of the table or, of the activations that
// were not ended, that of an index, or a part of the index of fingerprints.
func (r reader) Activations(ctx context.Context, q store.ActivationQuery) ([]store.Activation, error) {
	if err := q.Check(); err != nil {
		return nil, wrap(err, "activations")
	}
	if q.FingerprintPrefix != "" {
		found, err := list(ctx, r, scanActivation, byFingerprint(q))
		return found, wrap(err, "activations by fingerprint")
	}
	s := activations(q)
	if q.LeaseEnds.IsZero() {
		s.beyond(`id`, q.After, "", false)
		s.order(false, q.Limit, `id`)
	} else {
		s.order(false, q.Limit, leaseEnd, `id`)
	}
	found, err := list(ctx, r, scanActivation, s)
	return found, wrap(err, "activations of license %s", q.LicenseID)
}

// byFingerprint selects the activations of all licenses with a prefix of their
// fingerprints.
func byFingerprint(q store.ActivationQuery) *selection {
	s := &selection{exact: true}
	s.add(selectActivations + ` INDEXED BY activations_fingerprint`)
	if q.AfterFingerprint >= q.FingerprintPrefix && utf8.ValidString(q.FingerprintPrefix) {
		s.and(`(fingerprint, license_id) > (?, ?)`, q.AfterFingerprint, q.AfterLicenseID)
	} else {
		s.and(`fingerprint >= ?`, whole(q.FingerprintPrefix))
	}
	if end := store.PrefixEnd(q.FingerprintPrefix); end != "" {
		s.and(`fingerprint < ?`, end)
	}
	s.order(false, q.Limit, `fingerprint`, `license_id`)
	return s
}

// activations begins a selection of what q matches.
func activations(q store.ActivationQuery) *selection {
	s := &selection{}
	s.add(selectActivations)
	ends := q.LeaseEnds
	switch {
	case !ends.IsZero():
		s.add(` INDEXED BY activations_lease`)
	case !q.LiveAt.IsZero():
		s.add(` INDEXED BY activations_active`)
	}
	s.and(`license_id = ?`, q.LicenseID)
	if !q.LiveAt.IsZero() {
		s.and(`ended_at IS NULL AND (+lease_ends_at IS NULL OR +lease_ends_at > ?)`, q.LiveAt.UnixMilli())
	}
	if ends.IsZero() {
		return s
	}
	s.and(`ended_at IS NULL`)
	switch {
	case ends.OrNone && !ends.From.IsZero(): // two parts of the index, and what is between them
		s.and(`(+lease_ends_at IS NULL OR +lease_ends_at >= ?)`, ceiling(ends.From))
		ends.From = time.Time{}
	case !ends.OrNone && ends.From.IsZero():
		s.and(leaseEnd+` > ?`, never)
	}
	s.span(leaseEnd, `id`, ends, store.Position{}, store.Position{}, false)
	return s
}

var putActivations = forRows(places(6), func(rows string) string {
	return `WITH added AS (VALUES ` + rows + `)
		INSERT INTO activations (` + activationColumns + `) SELECT * FROM added
		WHERE NOT EXISTS (SELECT 1 FROM added LEFT JOIN licenses l ON l.id = column1 WHERE l.id IS NULL)
		ON CONFLICT (license_id, id) DO UPDATE SET fingerprint = excluded.fingerprint,
			lease_ends_at = excluded.lease_ends_at, ended_at = excluded.ended_at, document = excluded.document`
})

// PutActivations tries first to replace all but the columns that identify a
// single seat: renewing a lease, which is by far the most frequent, need not
// touch the index of fingerprints.
func (t *tx) PutActivations(ctx context.Context, activations ...store.Activation) error {
	if len(activations) == 1 {
		a := activations[0]
		n, err := t.count(ctx, `
			UPDATE activations SET lease_ends_at = ?, ended_at = ?, document = ?
			WHERE license_id = ? AND id = ? AND fingerprint = ? AND EXISTS (SELECT 1 FROM licenses l WHERE l.id = license_id)`,
			a.LeaseEndsAt, a.EndedAt, a.Document, a.LicenseID, a.ID, a.Fingerprint)
		if err != nil || n > 0 {
			return wrap(err, "put activation %s of license %s", a.ID, a.LicenseID)
		}
	}
	args := make([]any, 0, 6*min(len(activations), rowsPerStatement))
	write := func(ctx context.Context, chunk []store.Activation) error {
		args = args[:0]
		for _, a := range chunk {
			args = append(args, a.LicenseID, a.ID, a.Fingerprint, a.LeaseEndsAt, a.EndedAt, a.Document)
		}
		err := t.change(ctx, putActivations[len(chunk)], args...)
		return wrap(err, "put activation %s of license %s", chunk[0].ID, chunk[0].LicenseID)
	}
	if len(activations) <= rowsPerStatement {
		return together(ctx, t, activations, write, func(context.Context, int) error { return nil })
	}
	if _, err := t.exec(ctx, `SAVEPOINT call`); err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx)
	err := together(ctx, t, activations, write, func(ctx context.Context, _ int) error {
		_, err := t.exec(ctx, `ROLLBACK TO call`)
		return err
	})
	_, released := t.exec(ctx, `RELEASE call`)
	return cmp.Or(err, released)
}

// DeleteActivations removes rows.
func (t *tx) DeleteActivations(ctx context.Context, licenseID string, ids ...string) error {
	err := t.remove(ctx, `activations`, `license_id`, licenseID, `id`, ids, true)
	return wrap(err, "delete activations of license %s", licenseID)
}
