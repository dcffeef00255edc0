package postgres

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/seed-d8a106b4/licensekit/store"
)

// A session runs statements: each on its own for the Store itself, or inside
// the transaction of a View or an Update.
type session interface {
	// query runs one statement and calls each to read its rows. If the
	// connection is lost, it may call each again with the rows of another
	// connection.
	query(ctx context.Context, stmt string, args []any, each func(*sql.Rows) error) error

	// ready returns the error with which query would fail without asking the database.
	ready(ctx context.Context) error
}

// A reader has the methods of [store.Reader]. They are in the files of the
// records that they read.
type reader struct{ session }

// all returns the result of scan for each row of a statement.
func all[R any](ctx context.Context, s session, scan func(*sql.Rows, ...any) (R, error), stmt string, args ...any) ([]R, error) {
	var found []R
	if !storable(args...) {
		return nil, s.ready(ctx) // no stored value can match
	}
	err := s.query(ctx, stmt, args, func(rows *sql.Rows) error {
		found = nil
		for rows.Next() {
			r, err := scan(rows)
			if err != nil {
				return defect{err}
			}
			found = append(found, r)
		}
		return rows.Err()
	})
	return found, err
}

// one returns the result of scan for the only row of a statement, or ErrNotFound.
func one[R any](ctx context.Context, s session, scan func(*sql.Rows, ...any) (R, error), stmt string, args ...any) (R, error) {
	var none R
	found, err := all(ctx, s, scan, stmt, args...)
	if err != nil {
		return none, err
	}
	if len(found) == 0 {
		return none, store.ErrNotFound
	}
	return found[0], nil
}

// about wraps err with the operation that failed. It returns nil if err is nil.
func about(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("postgres: "+format+": %w", append(args, err)...)
}
