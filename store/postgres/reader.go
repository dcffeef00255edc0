package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/seed-d8a106b4/licensekit/store"
)

// A database runs statements: each on any connection, or inside the transaction of a
// View or an Update.
type database interface {
	// query runs one statement and calls each to read its rows. If the
	// connection is lost, it may call each again with the rows of another
	// connection.
	query(ctx context.Context, stmt string, args []any, each func(*sql.Rows) error) error

	// ready returns the error with which query would fail without asking the database.
	ready(ctx context.Context) error
}

// A session is what a reader reads: a database itself, or an Update, which knows what it
// has written.
type session interface {
	database

	// get returns the row at a place, or nil. The caller owns it.
	get(ctx context.Context, p place) (any, error)

	// list returns the rows of a selection. The caller owns them.
	list(ctx context.Context, s *selection) ([]row, error)
}

// direct reads what a database has.
type direct struct{ database }

func (d direct) get(ctx context.Context, p place) (any, error) {
	rows, err := read(ctx, d, p)
	if len(rows) == 0 {
		return nil, err
	}
	return rows[0].value, err
}

func (d direct) list(ctx context.Context, s *selection) ([]row, error) {
	return all(ctx, d, rowScanner(), s.text(), s.args...)
}

// A reader has the methods of [store.Reader]. They are in the files of the
// records that they read.
type reader struct{ session }

// get returns the row at a place, or ErrNotFound.
func get[R any](ctx context.Context, r reader, p place) (found R, err error) {
	v, err := r.get(ctx, p)
	if err == nil && v == nil {
		err = store.ErrNotFound
	}
	if err != nil {
		return found, err
	}
	return *v.(*R), nil
}

// list returns the first rows of a selection, at most limit.
func list[R any](ctx context.Context, r reader, s *selection, limit int) ([]R, error) {
	if s.err != nil {
		return nil, errors.Join(r.ready(ctx), s.err)
	}
	s.limit(limit)
	rows, err := r.list(ctx, s)
	found := make([]R, len(rows))
	for i, row := range rows {
		found[i] = *row.value.(*R)
	}
	return found, err
}

// all returns the result of scan for each row of a statement.
func all[R any](ctx context.Context, d database, scan func(*sql.Rows) (R, error), stmt string, args ...any) ([]R, error) {
	var found []R
	if !storable(args...) {
		return nil, d.ready(ctx) // no stored value can match
	}
	err := d.query(ctx, stmt, args, collect(&found, scan))
	return found, err
}

// collect returns a function that sets found to the result of scan for each row.
func collect[R any](found *[]R, scan func(*sql.Rows) (R, error)) func(*sql.Rows) error {
	return func(rows *sql.Rows) error {
		*found = nil
		for rows.Next() {
			r, err := scan(rows)
			if err != nil {
				return defect{err}
			}
			*found = append(*found, r)
		}
		return rows.Err()
	}
}

// about wraps err with the operation that failed. It returns nil if err is nil.
func about(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("postgres: "+format+": %w", append(args, err)...)
}
