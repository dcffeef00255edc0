package postgres

import (
	"context"
	"database/sql"

	"github.com/seed-d8a106b4/licensekit/store"
)

const licenseColumns = `l.id, l.key, l.customer_id, l.product_id, l.state, l.starts_at, l.expires_at, l.document`

func scanLicense(rows *sql.Rows) (l store.License, err error) {
	err = rows.Scan(&l.ID, &l.Key, &l.CustomerID, &l.ProductID, &l.State, instant{&l.StartsAt}, instant{&l.ExpiresAt}, &l.Document)
	return l, err
}

// licenseValues are the values of licenseColumns.
func licenseValues(l store.License) []any {
	return []any{l.ID, l.Key, l.CustomerID, l.ProductID, string(l.State), millis(l.StartsAt), millis(l.ExpiresAt), document(l.Document)}
}

// License reads by the primary key.
func (r reader) License(ctx context.Context, id string) (store.License, error) {
	l, err := one(ctx, r, scanLicense, `SELECT `+licenseColumns+` FROM licensing_license l WHERE l.id = $1`, id)
	return l, about(err, "license %s", id)
}

// LicenseByKey reads by the unique key.
func (r reader) LicenseByKey(ctx context.Context, key string) (store.License, error) {
	l, err := one(ctx, r, scanLicense, `SELECT `+licenseColumns+` FROM licensing_license l WHERE l.key = $1`, key)
	return l, about(err, "license by key") // a key is a credential
}

// Licenses walks the index of the order, or looks up IDs. A list by ID uses the
// index that begins with the first filter set of customer, product and state; a
// list by time uses the one that begins with the product.
func (r reader) Licenses(ctx context.Context, q store.LicenseQuery) ([]store.License, error) {
	if err := q.Check(); err != nil {
		return nil, about(err, "licenses")
	}
	s := from(licenseColumns, "licensing_license l")
	customer, product, state := s.equal, s.equal, s.equal
	switch {
	case q.IDs != nil:
	case q.Order == store.ByID:
		customer, product, state = s.leading, s.leading, s.leading
	default:
		product = s.leading
	}
	customer("l.customer_id", q.CustomerID)
	if q.IDs != nil {
		ids, err := textArray(q.IDs)
		if err != nil {
			return nil, about(err, "licenses")
		}
		s.and("l.id = ANY (ARRAY(SELECT json_array_elements_text(?::text::json)))", ids)
	}
	product("l.product_id", q.ProductID)
	state("l.state", string(q.State))
	s.within("l.starts_at", q.Starts)
	s.within("l.expires_at", q.Expires)

	switch q.Order {
	case store.ByExpiresAt:
		s.and("l.expires_at IS NOT NULL")
		s.order(q.Descending, afterTime(q.After), "l.expires_at", "l.id")
	case store.ByStartsAt:
		s.and("l.starts_at IS NOT NULL")
		s.order(q.Descending, afterTime(q.After), "l.starts_at", "l.id")
	default:
		s.order(q.Descending, after(q.After.ID), "l.id")
	}
	found, err := page(ctx, r, scanLicense, s, q.Limit)
	return found, about(err, "licenses")
}

// licenseKinds are the kinds of licenseColumns, for a recordset.
const licenseKinds = "tttttiid"

// CreateLicenses adds the licenses in one statement, which does nothing if an id
// or a key is taken, or if there are activations of a deleted license.
func (t tx) CreateLicenses(ctx context.Context, licenses ...store.License) error {
	rows := make([][]any, 0, len(licenses))
	ids, keys := map[string]bool{}, map[string]bool{}
	for _, l := range licenses {
		rows = append(rows, licenseValues(l))
		ids[l.ID], keys[l.Key] = true, true
	}
	n, err := t.writeRows(ctx, rows, `
		WITH added (`+bare(licenseColumns)+`) AS MATERIALIZED (`+recordset(licenseKinds)+`)
		INSERT INTO licensing_license (`+bare(licenseColumns)+`)
		SELECT `+bare(licenseColumns)+` FROM added
		WHERE $2 AND NOT EXISTS (SELECT FROM licensing_license l WHERE l.id = ANY (ARRAY(SELECT id FROM added)))
		AND NOT EXISTS (SELECT FROM licensing_license l WHERE l.key = ANY (ARRAY(SELECT key FROM added)))
		AND NOT EXISTS (SELECT FROM licensing_activation a WHERE a.license_id = ANY (ARRAY(SELECT id FROM added)))`,
		len(ids) == len(licenses) && len(keys) == len(licenses))
	if err == nil && int(n) < len(licenses) {
		err = store.ErrExists
	}
	if len(licenses) == 1 {
		return about(err, "create license %s", licenses[0].ID)
	}
	return about(err, "create %d licenses", len(licenses))
}

// UpdateLicense replaces the license, or does nothing if there is no such
// license or another one has the key.
func (t tx) UpdateLicense(ctx context.Context, l store.License) error {
	n, err := t.write(ctx, `
		UPDATE licensing_license SET
			key = $2, customer_id = $3, product_id = $4, state = $5, starts_at = $6, expires_at = $7, document = $8
		WHERE id = $1 AND NOT EXISTS (SELECT FROM licensing_license other WHERE other.key = $2 AND other.id <> $1)`,
		licenseValues(l)...)
	if err == nil && n == 0 {
		if _, err = t.License(ctx, l.ID); err == nil {
			err = store.ErrExists
		}
	}
	return about(err, "update license %s", l.ID)
}

// DeleteLicense deletes by the primary key.
func (t tx) DeleteLicense(ctx context.Context, id string) error {
	n, err := t.write(ctx, `DELETE FROM licensing_license WHERE id = $1`, id)
	if err == nil && n == 0 {
		err = store.ErrNotFound
	}
	return about(err, "delete license %s", id)
}
