package sqlite

import (
	"context"

	lib "modernc.org/sqlite/lib"

	"github.com/seed-d8a106b4/licensekit/store"
)

const licenseColumns = `id, key, customer_id, product_id, state, starts_at, expires_at, text, document`

var (
	selectLicenses = `SELECT ` + results(`l.`, licenseColumns) + ` FROM licenses l`
	licenseByID    = selectLicenses + ` WHERE l.id = ?`
	licenseByKey   = selectLicenses + ` WHERE l.key = ?`
)

func scanLicense(r *row) store.License {
	return store.License{
		ID: r.text(), Key: r.text(), CustomerID: r.text(), ProductID: r.text(), State: store.State(r.text()),
		StartsAt: r.time(), ExpiresAt: r.time(), Text: r.text(), Document: r.bytes(),
	}
}

// License looks in the index of ids.
func (r reader) License(ctx context.Context, id string) (store.License, error) {
	l, err := one(ctx, r, scanLicense, licenseByID, id)
	return l, wrap(err, "license %s", id)
}

// LicenseByKey looks in the index of keys.
func (r reader) LicenseByKey(ctx context.Context, key string) (store.License, error) {
	l, err := one(ctx, r, scanLicense, licenseByKey, key)
	return l, wrap(err, "license by key") // a key is a credential
}

// Licenses walks one index in the order asked for, and leaves out what does
// not match.
func (r reader) Licenses(ctx context.Context, q store.LicenseQuery) ([]store.License, error) {
	if err := q.Check(); err != nil {
		return nil, wrap(err, "licenses")
	}
	s := &selection{}
	s.add(selectLicenses)
	s.licenses(q, store.Position{})
	s.order(q.Descending, q.Limit, orders[q.Order]...)
	found, err := list(ctx, r, scanLicense, s)
	return found, wrap(err, "licenses")
}

// orders are the columns of each order of licenses.
var orders = [...][]string{
	store.ByID:        {`l.id`},
	store.ByExpiresAt: {`l.expires_at`, `l.id`},
	store.ByStartsAt:  {`l.starts_at`, `l.id`},
}

// licenses narrows a SELECT from the table of licenses to the matches of q, in its
// order, after its position and up to last, unless that is zero.
func (s *selection) licenses(q store.LicenseQuery, last store.Position) {
	s.walk(q)
	switch q.Order {
	case store.ByExpiresAt:
		s.within(`l.starts_at`, q.Starts)
		s.span(`l.expires_at`, `l.id`, q.Expires, q.After, last, q.Descending)
	case store.ByStartsAt:
		s.within(`l.expires_at`, q.Expires)
		s.span(`l.starts_at`, `l.id`, q.Starts, q.After, last, q.Descending)
	default:
		s.within(`l.starts_at`, q.Starts)
		s.within(`l.expires_at`, q.Expires)
		s.beyond(`l.id`, q.After.ID, last.ID, q.Descending)
	}
}

// walk selects the index of q and leaves only licenses in its order that have its
// names and its state. The engine cannot know that a customer has few licenses and
// a product many: a list goes by the index that serves the filters of q.Walked.
func (s *selection) walk(q store.LicenseQuery) {
	ended := false // whether the index is one without active licenses
	switch w := q.Walked(); {
	case q.IDs != nil:
	case q.Order == store.ByExpiresAt && q.ProductID != "":
		s.add(` INDEXED BY licenses_product_expiry`)
	case q.Order == store.ByExpiresAt && w.State != "":
		s.add(` INDEXED BY licenses_ended_expiry`)
		ended = true
	case q.Order == store.ByExpiresAt:
		s.add(` INDEXED BY licenses_expiry`)
	case q.Order == store.ByStartsAt && q.ProductID != "":
		s.add(` INDEXED BY licenses_product_start`)
	case q.Order == store.ByStartsAt:
		s.add(` INDEXED BY licenses_start`)
	case q.CustomerID != "" && q.ProductID != "":
		s.add(` INDEXED BY licenses_customer_product`)
	case q.CustomerID != "":
		s.add(` INDEXED BY licenses_customer`)
	case q.ProductID != "" && w.State != "":
		s.add(` INDEXED BY licenses_ended_product`)
		ended = true
	case q.ProductID != "":
		s.add(` INDEXED BY licenses_product`)
	case q.State != "":
		s.add(` INDEXED BY licenses_state`)
	default:
		s.add(` INDEXED BY licenses_id`)
	}

	filters := 0
	for _, value := range []string{q.CustomerID, q.ProductID, string(q.State)} {
		if value != "" {
			filters++
		}
	}
	s.exact = ended && q.CustomerID == "" || filters == 0 || filters == 1 && (q.Order == store.ByID || q.ProductID != "") // whose index serves one filter

	column := "l."
	if q.IDs != nil {
		s.among(`l.id`, q.IDs)
		s.exact, column = filters == 0, "+l." // not by an index
	}
	if q.CustomerID != "" {
		s.and(column+`customer_id = ?`, q.CustomerID)
	}
	if q.ProductID != "" {
		s.and(column+`product_id = ?`, q.ProductID)
	}
	if q.State != "" {
		s.and(column+`state = ?`, q.State)
	}
	if ended {
		s.and(`l.state <> 'active'`)
	}
	switch q.Order {
	case store.ByExpiresAt:
		s.and(`l.expires_at IS NOT NULL`)
	case store.ByStartsAt:
		s.and(`l.starts_at IS NOT NULL`)
	}
}

// The id of a license that has activations left becomes NULL, which the table
// refuses.
var createLicenses = forRows(`(iif(EXISTS (SELECT 1 FROM activations WHERE license_id = ?), NULL, ?), ?, ?, ?, ?, ?, ?, ?, ?)`, func(rows string) string {
	return `INSERT OR FAIL INTO licenses (` + licenseColumns + `) VALUES ` + rows
})

// CreateLicenses adds rows. A statement that meets a taken id or key, or
// activations of a deleted license, keeps the rows before that one, which
// CreateLicenses then deletes.
func (t *tx) CreateLicenses(ctx context.Context, licenses ...store.License) error {
	args := make([]any, 0, 10*min(len(licenses), rowsPerStatement))
	write := func(ctx context.Context, chunk []store.License) error {
		args = args[:0]
		for _, l := range chunk {
			args = append(args, l.ID, l.ID, l.Key, l.CustomerID, l.ProductID, l.State, l.StartsAt, l.ExpiresAt, l.Text, l.Document)
		}
		_, err := t.exec(ctx, createLicenses[len(chunk)], args...)
		if code(err) == lib.SQLITE_CONSTRAINT_NOTNULL {
			err = store.ErrExists
		}
		return wrap(err, "create license %s", chunk[0].ID)
	}
	undo := func(ctx context.Context, done int) error {
		n, err := one(ctx, t.reader, (*row).integer, `SELECT changes()`) // of the statement that failed
		for _, l := range licenses[:done+int(n)] {
			if err == nil {
				err = t.DeleteLicense(ctx, l.ID)
			}
		}
		return err
	}
	return together(ctx, t, licenses, write, undo)
}

// UpdateLicense tries first to write only the columns that no index has, which is
// all that most updates change: to give an indexed column its old value again costs
// as much as to give it a new one.
func (t *tx) UpdateLicense(ctx context.Context, l store.License) error {
	n, err := t.count(ctx, `
		UPDATE licenses SET text = ?, document = ?
		WHERE id = ? AND +key = ? AND +customer_id = ? AND +product_id = ? AND +state = ? AND +starts_at IS ? AND +expires_at IS ?`,
		l.Text, l.Document, l.ID, l.Key, l.CustomerID, l.ProductID, l.State, l.StartsAt, l.ExpiresAt)
	if err == nil && n == 0 {
		err = t.updateIndexed(ctx, l)
	}
	return wrap(err, "update license %s", l.ID)
}

// updateIndexed writes the columns that indexes have only if their values change.
func (t *tx) updateIndexed(ctx context.Context, l store.License) error {
	old, err := one(ctx, t.reader, func(r *row) store.License {
		return store.License{
			Key: r.text(), CustomerID: r.text(), ProductID: r.text(), State: store.State(r.text()), StartsAt: r.time(), ExpiresAt: r.time(),
		}
	}, `SELECT key, customer_id, product_id, state, starts_at, expires_at FROM licenses WHERE id = ?`, l.ID)
	if err != nil {
		return err
	}
	text, args := `UPDATE licenses SET text = ?, document = ?`, []any{l.Text, l.Document}
	for _, column := range []struct {
		name     string
		old, new any
	}{
		{`key`, old.Key, l.Key}, {`customer_id`, old.CustomerID, l.CustomerID}, {`product_id`, old.ProductID, l.ProductID},
		{`state`, old.State, l.State}, {`starts_at`, old.StartsAt, l.StartsAt}, {`expires_at`, old.ExpiresAt, l.ExpiresAt},
	} {
		if column.old != column.new {
			text, args = text+`, `+column.name+` = ?`, append(args, column.new)
		}
	}
	return t.change(ctx, text+` WHERE id = ?`, append(args, l.ID)...)
}

// DeleteLicense removes a row.
func (t *tx) DeleteLicense(ctx context.Context, id string) error {
	err := t.change(ctx, `DELETE FROM licenses WHERE id = ?`, id)
	return wrap(err, "delete license %s", id)
}
