package postgres

import (
	"context"
	"database/sql"

	"github.com/seed-d8a106b4/licensekit/store"
)

const licenseColumns = `l.id, l.key, l.customer_id, l.product_id, l.state, l.starts_at, l.expires_at, l.text, l.document`

func scanLicense(rows *sql.Rows) (l store.License, err error) {
	err = rows.Scan(&l.ID, &l.Key, &l.CustomerID, &l.ProductID, &l.State, instant{&l.StartsAt}, instant{&l.ExpiresAt}, &l.Text, &l.Document)
	return l, err
}

// licenseValues are the values of licenseColumns.
func licenseValues(l store.License) []any {
	return []any{l.ID, l.Key, l.CustomerID, l.ProductID, string(l.State), millis(l.StartsAt), millis(l.ExpiresAt), l.Text, document(l.Document)}
}

// License reads by the primary key.
func (r reader) License(ctx context.Context, id string) (store.License, error) {
	l, err := one(ctx, r, scanLicense, `SELECT `+licenseColumns+` FROM licensing_licenses l WHERE l.id = $1`, id)
	return l, about(err, "license %s", id)
}

// LicenseByKey reads by the unique key.
func (r reader) LicenseByKey(ctx context.Context, key string) (store.License, error) {
	l, err := one(ctx, r, scanLicense, `SELECT `+licenseColumns+` FROM licensing_licenses l WHERE l.key = $1`, key)
	return l, about(err, "license by key") // a key is a credential
}

// Licenses walks the index of the order, or looks up IDs.
func (r reader) Licenses(ctx context.Context, q store.LicenseQuery) ([]store.License, error) {
	if err := q.Check(); err != nil {
		return nil, about(err, "licenses")
	}
	s := from(licenseColumns, "licensing_licenses l")
	if q.IDs != nil {
		ids, err := textArray(q.IDs)
		if err != nil {
			return nil, about(err, "licenses")
		}
		s.and("l.id = ANY (ARRAY(SELECT json_array_elements_text(?::text::json)))", ids)
	}
	s.licenses(q)
	found, err := page(ctx, r, scanLicense, s, q.Limit)
	return found, about(err, "licenses")
}

// orders are the columns of each order of licenses.
var orders = [...][]string{
	store.ByID:        {"l.id"},
	store.ByExpiresAt: {"l.expires_at", "l.id"},
	store.ByStartsAt:  {"l.starts_at", "l.id"},
}

// position returns the values of the columns of an order.
func position(order store.LicenseOrder, p store.Position) []any {
	if order == store.ByID {
		return []any{p.ID}
	}
	return []any{p.Time.UnixMilli(), p.ID}
}

// licenses narrows a list of licenses to the matches of q, in its order and
// after its position. A list by ID uses the index that begins with the first
// filter set of customer, product and state; a list by time uses the one that
// begins with the product.
func (s *selection) licenses(q store.LicenseQuery) {
	switch {
	case q.IDs != nil:
	case q.Order == store.ByID:
		s.leading("l.customer_id", q.CustomerID)
		s.leading("l.product_id", q.ProductID)
		s.leading("l.state", string(q.State))
		q.CustomerID, q.ProductID, q.State = "", "", ""
	default:
		s.leading("l.product_id", q.ProductID)
		q.ProductID = ""
	}
	s.filter(q)
	var after []any
	if q.After.ID != "" || q.Order != store.ByID && !q.After.IsZero() {
		after = position(q.Order, q.After)
	}
	s.order(q.Descending, after, orders[q.Order]...)
}

// filter adds the conditions of q, and leaves only licenses in its order.
func (s *selection) filter(q store.LicenseQuery) {
	s.equal("l.customer_id", q.CustomerID)
	s.equal("l.product_id", q.ProductID)
	s.equal("l.state", string(q.State))
	s.within("l.starts_at", q.Starts)
	s.within("l.expires_at", q.Expires)
	if q.Order != store.ByID {
		s.and(orders[q.Order][0] + " IS NOT NULL")
	}
}

// licenseKinds are the kinds of licenseColumns, for a recordset.
const licenseKinds = "tttttiitd"

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
		INSERT INTO licensing_licenses (`+bare(licenseColumns)+`)
		SELECT `+bare(licenseColumns)+` FROM added
		WHERE $2 AND NOT EXISTS (SELECT FROM licensing_licenses l WHERE l.id = ANY (ARRAY(SELECT id FROM added)))
		AND NOT EXISTS (SELECT FROM licensing_licenses l WHERE l.key = ANY (ARRAY(SELECT key FROM added)))
		AND NOT EXISTS (SELECT FROM licensing_activations a WHERE a.license_id = ANY (ARRAY(SELECT id FROM added)))`,
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
		UPDATE licensing_licenses SET
			key = $2, customer_id = $3, product_id = $4, state = $5, starts_at = $6, expires_at = $7, text = $8, document = $9
		WHERE id = $1 AND NOT EXISTS (SELECT FROM licensing_licenses other WHERE other.key = $2 AND other.id <> $1)`,
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
	n, err := t.write(ctx, `DELETE FROM licensing_licenses WHERE id = $1`, id)
	if err == nil && n == 0 {
		err = store.ErrNotFound
	}
	return about(err, "delete license %s", id)
}
