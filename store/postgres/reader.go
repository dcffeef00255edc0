package postgres

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/seed-d8a106b4/licensekit/store"
)

// A session runs statements: each on its own for the Store itself, or inside
// the transaction of a View or an Update.
type session interface {
	// query runs one statement and has each read its rows. If the
	// connection is lost meanwhile, each may be called again with the rows
	// of another.
	query(ctx context.Context, stmt string, args []any, each func(*sql.Rows) error) error
}

// A reader has the methods of [store.Reader]. They are in the files of the
// records that they read.
type reader struct{ session }

// all returns what scan makes of each row of a statement.
func all[R any](ctx context.Context, s session, scan func(*sql.Rows) (R, error), stmt string, args ...any) ([]R, error) {
	var found []R
	if !storable(args...) {
		return nil, nil // nothing stored can be like that
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

// one returns what scan makes of the only row of a statement, or ErrNotFound.
func one[R any](ctx context.Context, s session, scan func(*sql.Rows) (R, error), stmt string, args ...any) (R, error) {
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

// about says what an error is about, if it is one.
func about(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("postgres: "+format+": %w", append(args, err)...)
}

// scanInt reads a row of one number.
func scanInt(rows *sql.Rows) (n int64, err error) {
	err = rows.Scan(&n)
	return n, err
}

// A selection is a SELECT in the making. Its LIMIT is part of the text, since
// the planner, when it plans for any values of the parameters, would otherwise
// expect a tenth of the table and sort it.
type selection struct {
	text  strings.Builder
	args  []any
	where bool
}

// from begins a selection.
func from(columns, table string) *selection {
	s := &selection{}
	s.text.WriteString("SELECT " + columns + " FROM " + table)
	return s
}

// write appends text, with each ? replaced by the parameter that is next.
func (s *selection) write(text string, args ...any) {
	for _, arg := range args {
		s.args = append(s.args, arg)
		text = strings.Replace(text, "?", "$"+strconv.Itoa(len(s.args)), 1)
	}
	s.text.WriteString(text)
}

// and adds a condition.
func (s *selection) and(condition string, args ...any) {
	if s.where {
		s.write(" AND ")
	} else {
		s.write(" WHERE ")
		s.where = true
	}
	s.write(condition, args...)
}

// equal adds a condition if value is set.
func (s *selection) equal(column, value string) {
	if value != "" {
		s.and(column+" = ?", value)
	}
}

// within adds the condition that a column, NULL meaning none, is in r.
func (s *selection) within(column string, r store.TimeRange) {
	if r.IsZero() {
		return
	}
	inside := column + " IS NOT NULL"
	var bounds []any
	if !r.From.IsZero() {
		inside += " AND " + column + " >= ?"
		bounds = append(bounds, ceiling(r.From))
	}
	if !r.Before.IsZero() {
		inside += " AND " + column + " < ?"
		bounds = append(bounds, ceiling(r.Before))
	}
	if r.OrNone {
		inside = "(" + column + " IS NULL OR " + inside + ")"
	}
	s.and(inside, bounds...)
}

// page ends the selection: in the order of columns, at most limit rows.
func (s *selection) page(descending bool, limit int, columns ...string) {
	direction := ""
	if descending {
		direction = " DESC"
	}
	s.write(" ORDER BY " + strings.Join(columns, direction+", ") + direction)
	s.write(" LIMIT " + strconv.Itoa(store.Limit(limit)))
}

// beyond returns the comparison that goes on behind a position.
func beyond(descending bool) string {
	if descending {
		return " < "
	}
	return " > "
}

// rowsOf runs a selection.
func rowsOf[R any](ctx context.Context, r reader, scan func(*sql.Rows) (R, error), s *selection) ([]R, error) {
	return all(ctx, r.session, scan, s.text.String(), s.args...)
}

// storable reports whether all strings among values can be in a database: those
// that are UTF-8 without a NUL byte. A statement with another would fail, and
// doom its transaction.
func storable(values ...any) bool {
	for _, v := range values {
		if s, ok := v.(string); ok && (!utf8.ValidString(s) || strings.ContainsRune(s, 0)) {
			return false
		}
	}
	return true
}

// millis returns what is stored for an instant: its milliseconds since 1970,
// rounded down, or NULL for the zero time.
func millis(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixMilli()
}

// ceiling returns the milliseconds of an instant rounded up. What is stored is
// in whole milliseconds, so that it is before an instant exactly if it is
// before its ceiling.
func ceiling(t time.Time) int64 {
	return t.Add(time.Millisecond - time.Nanosecond).UnixMilli()
}

// An instant scans what millis has stored.
type instant struct{ *time.Time }

func (i instant) Scan(src any) error {
	switch ms := src.(type) {
	case nil:
		*i.Time = time.Time{}
	case int64:
		*i.Time = time.UnixMilli(ms).UTC()
	default:
		return fmt.Errorf("an instant of type %T", src)
	}
	return nil
}

// document returns what is stored for a document: a nil one is an empty one.
func document(d []byte) []byte {
	if d == nil {
		return []byte{}
	}
	return d
}
