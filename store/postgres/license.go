package postgres

import (
	"context"
	"database/sql"
	"encoding/json"
	"strconv"

	"github.com/seed-d8a106b4/licensekit/store"
)

const licenseColumns = `l.id, l.name, l.product_id, l.customer_id, l.key, l.state, l.state_reason, l.state_at,
	l.starts_at, l.expires_at, l.grace_seconds, l.max_activations, l.lease_seconds,
	l.entitlements, l.metadata, l.terms, l.revision, l.created_at, l.updated_at`

func scanLicense(rows *sql.Rows) (store.License, error) {
	var l store.License
	var terms []byte
	err := rows.Scan(&l.ID, &l.Name, &l.ProductID, &l.CustomerID, &l.Key, &l.State, &l.StateReason, instant{&l.StateAt},
		instant{&l.StartsAt}, instant{&l.ExpiresAt}, &l.GraceSeconds, &l.MaxActivations, &l.LeaseSeconds,
		&l.Entitlements, &l.Metadata, &terms, &l.Revision, instant{&l.CreatedAt}, instant{&l.UpdatedAt})
	if err != nil {
		return store.License{}, err
	}
	return l, json.Unmarshal(terms, &l.Terms)
}

// licenseValues are the values of licenseColumns.
func licenseValues(l store.License) ([]any, error) {
	for _, term := range l.Terms {
		if !storable(term) {
			return nil, errNotText // json.Marshal would mend it
		}
	}
	terms, err := json.Marshal(append([]string{}, l.Terms...))
	return []any{l.ID, l.Name, l.ProductID, l.CustomerID, l.Key, string(l.State), l.StateReason, millis(l.StateAt),
		millis(l.StartsAt), millis(l.ExpiresAt), l.GraceSeconds, l.MaxActivations, l.LeaseSeconds,
		document(l.Entitlements), document(l.Metadata), string(terms), l.Revision, millis(l.CreatedAt), millis(l.UpdatedAt)}, err
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

// Licenses walks the index of the order, or that of the customer, of a term, of
// the product or of the state, the first of them that is asked for. The index of
// terms is in the order of ids as well; the position is said of each, since the
// planner infers that they are equal, but not that they are greater.
func (r reader) Licenses(ctx context.Context, q store.LicenseQuery) ([]store.License, error) {
	s := from(licenseColumns, "licensing_license l")
	byID := q.Order == store.ByID
	pick := s.equal
	if byID {
		pick = s.leading
	}
	if byID || q.Order == store.ByExpiresAt {
		s.leading("l.customer_id", q.CustomerID)
	} else {
		s.equal("l.customer_id", q.CustomerID)
	}
	for i, term := range q.Terms {
		t := "t" + strconv.Itoa(i)
		s.join("licensing_license_term "+t, t+".license_id = l.id")
		pick(t+".term", term)
		if term == "" {
			s.and(t + ".term = ''")
		}
		if byID && q.After.ID != "" {
			s.and(t+".license_id"+ahead(q.Descending)+"?", q.After.ID)
		}
	}
	pick("l.product_id", q.ProductID)
	pick("l.state", string(q.State))
	s.within("l.starts_at", q.Starts)
	s.within("l.expires_at", q.Expires)

	switch q.Order {
	case store.ByExpiresAt:
		s.and("l.expires_at IS NOT NULL")
		s.order(q.Descending, behind(q.After), "l.expires_at", "l.id")
	case store.ByStartsAt:
		s.and("l.starts_at IS NOT NULL")
		s.order(q.Descending, behind(q.After), "l.starts_at", "l.id")
	default:
		s.order(q.Descending, after(q.After.ID), "l.id")
	}
	found, err := page(ctx, r, scanLicense, s, q.Limit)
	return found, about(err, "licenses")
}

// CreateLicense adds the license and its terms in one statement, which does
// nothing if the id or the key is taken.
func (t tx) CreateLicense(ctx context.Context, l store.License) error {
	values, err := licenseValues(l)
	if err != nil {
		return about(err, "create license %s", l.ID)
	}
	n, err := t.write(ctx, `
		WITH created AS (
			INSERT INTO licensing_license VALUES
				($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19)
			ON CONFLICT DO NOTHING
			RETURNING id, terms
		), added AS (
			INSERT INTO licensing_license_term (term, license_id)
			SELECT term, id FROM created, json_array_elements_text(terms::json) AS word (term)
			ON CONFLICT DO NOTHING
		)
		SELECT id FROM created`, values...)
	if err == nil && n == 0 {
		err = store.ErrExists
	}
	return about(err, "create license %s", l.ID)
}

// UpdateLicense replaces the license and, if they are others, its terms in one
// statement, which does nothing if there is no such license or another one has
// the key.
func (t tx) UpdateLicense(ctx context.Context, l store.License) error {
	values, err := licenseValues(l)
	if err != nil {
		return about(err, "update license %s", l.ID)
	}
	n, err := t.write(ctx, `
		WITH old AS (
			SELECT id, terms FROM licensing_license WHERE id = $1
		), updated AS (
			UPDATE licensing_license SET
				name = $2, product_id = $3, customer_id = $4, key = $5, state = $6, state_reason = $7, state_at = $8,
				starts_at = $9, expires_at = $10, grace_seconds = $11, max_activations = $12, lease_seconds = $13,
				entitlements = $14, metadata = $15, terms = $16, revision = $17, created_at = $18, updated_at = $19
			WHERE id = $1 AND NOT EXISTS (SELECT FROM licensing_license other WHERE other.key = $5 AND other.id <> $1)
			RETURNING id, terms
		), changed AS (
			SELECT id, old.terms AS before, updated.terms AS after FROM old JOIN updated USING (id) WHERE old.terms <> updated.terms
		), removed AS (
			DELETE FROM licensing_license_term t USING changed, json_array_elements_text(before::json) AS word (term)
			WHERE t.term = word.term AND t.license_id = id
			AND t.term NOT IN (SELECT json_array_elements_text(after::json) FROM changed)
		), added AS (
			INSERT INTO licensing_license_term (term, license_id)
			SELECT term, id FROM changed, json_array_elements_text(after::json) AS word (term)
			ON CONFLICT DO NOTHING
		)
		SELECT id FROM updated`, values...)
	if err == nil && n == 0 {
		if _, err = t.License(ctx, l.ID); err == nil {
			err = store.ErrExists
		}
	}
	return about(err, "update license %s", l.ID)
}

// DeleteLicense deletes the license and its terms; the foreign key takes the
// activations along.
func (t tx) DeleteLicense(ctx context.Context, id string) error {
	n, err := t.write(ctx, `
		WITH deleted AS (
			DELETE FROM licensing_license WHERE id = $1 RETURNING id, terms
		), removed AS (
			DELETE FROM licensing_license_term t USING deleted, json_array_elements_text(terms::json) AS word (term)
			WHERE t.term = word.term AND t.license_id = id
		)
		SELECT id FROM deleted`, id)
	if err == nil && n == 0 {
		err = store.ErrNotFound
	}
	return about(err, "delete license %s", id)
}
