package sqlite

import (
	"context"
	"database/sql/driver"
	"slices"
	"strings"

	"github.com/seed-d8a106b4/licensekit/store"
)

// A tx is the Tx of one run of an update's function. The methods that write
// stand beside their tables.
type tx struct {
	reader
	session
	wrote int   // statements
	kinds kinds // of the group

	others *writer // not nil if others in the group wait for this update
}

// largeUpdate is how many statements, or rows of one call, make an update so long that
// no other should wait for it.
const largeUpdate = 64

var _ store.Tx = (*tx)(nil)

func newTx(c *conn, known kinds) *tx {
	t := &tx{session: session{conn: c, updates: true}, kinds: known}
	t.reader = reader{&t.session}
	return t
}

// exec runs a statement that writes. A constraint refuses the statement and
// nothing else. Any other failure ends the update, whatever its function makes
// of it: the engine may have dropped the transaction, and then the next
// statement would commit by itself.
func (t *tx) exec(ctx context.Context, text string, args ...any) (driver.Result, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.usable(ctx); err != nil {
		return nil, err
	}
	if t.wrote++; t.wrote > largeUpdate && t.others != nil {
		return nil, t.leaveGroup()
	}
	result, err := t.conn.exec(text, args...)
	if err == nil {
		return result, nil
	}
	err, final := sentinel(err), !constraint(err)
	if final {
		t.err = err
	}
	return nil, err
}

// change runs a statement that is to change something, and returns ErrNotFound
// if it did not.
func (t *tx) change(ctx context.Context, text string, args ...any) error {
	n, err := t.count(ctx, text, args...)
	if err == nil && n == 0 {
		err = store.ErrNotFound
	}
	return err
}

// count runs a statement and returns how many rows it changed.
func (t *tx) count(ctx context.Context, text string, args ...any) (int64, error) {
	result, err := t.exec(ctx, text, args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// rowsPerStatement is how many rows one statement adds, and so how many such
// statements there are to keep for each table.
const rowsPerStatement = 16

// together calls write for the rows of a call, as many at a time as one
// statement adds. A call that fails does nothing: a single row is not written,
// and of several rows, undo removes the rows already written; done is the number
// of rows before the statement that failed. A nil undo is for rows that no constraint
// refuses: if they fail, so does the update. The end of the context does not stop
// a call with several rows.
//
// No savepoint is involved. In a savepoint, or if a constraint has to undo a
// statement of several rows, the engine copies every page before its first
// change, and at the end of each statement it walks over all the copies that the
// savepoints around it have made.
func together[R any](ctx context.Context, t *tx, rows []R, write func(ctx context.Context, chunk []R) error, undo func(ctx context.Context, done int) error) error {
	if err := t.ready(ctx); err != nil {
		return err
	}
	if len(rows) > largeUpdate && t.others != nil {
		t.mu.Lock()
		defer t.mu.Unlock()
		return t.leaveGroup()
	}
	if len(rows) > 1 {
		ctx = context.WithoutCancel(ctx)
	}
	done := 0
	for chunk := range slices.Chunk(rows, rowsPerStatement) {
		err := write(ctx, chunk)
		switch {
		case err == nil:
			done += len(chunk)
			continue
		case t.ready(ctx) != nil, len(rows) == 1:
		case undo == nil:
			t.fail(err)
		default:
			if failed := undo(ctx, done); failed != nil {
				err = t.fail(failed)
			}
		}
		return err
	}
	return nil
}

// places returns the parameters of a row.
func places(columns int) string { return "(?" + strings.Repeat(", ?", columns-1) + ")" }

// forRows returns the statements that add 1 to rowsPerStatement rows, each at
// the index of its number of rows.
func forRows(row string, statement func(rows string) string) [rowsPerStatement + 1]string {
	var texts [rowsPerStatement + 1]string
	for n := 1; n < len(texts); n++ {
		texts[n] = statement(row + strings.Repeat(", "+row, n-1))
	}
	return texts
}

// idsPerStatement is how many ids one statement of remove has.
const idsPerStatement = 256

// remove deletes the rows of a group with these ids. If all must exist, it looks
// for them before it deletes one, since a call that fails changes nothing.
func (t *tx) remove(ctx context.Context, table, groupColumn, group, idColumn string, ids []string, all bool) error {
	if err := t.ready(ctx); err != nil {
		return err
	}
	if len(ids) == 1 {
		n, err := t.count(ctx, `DELETE FROM `+table+` WHERE `+groupColumn+` = ? AND `+idColumn+` = ?`, group, ids[0])
		if err == nil && n == 0 && all {
			err = store.ErrNotFound
		}
		return err
	}
	named := func(text string, chunk []string) (string, []any) {
		s := &selection{}
		s.add(text + ` FROM ` + table)
		s.and(groupColumn+` = ?`, group)
		s.among(idColumn, chunk)
		return s.text.String(), s.args
	}
	ctx = context.WithoutCancel(ctx)
	for chunk := range slices.Chunk(ids, idsPerStatement) {
		if !all {
			break
		}
		text, args := named(`SELECT count(*)`, chunk)
		n, err := one(ctx, t.reader, (*row).integer, text, args...)
		if err == nil && n < int64(len(chunk)) {
			err = store.ErrNotFound
		}
		if err != nil {
			return err
		}
	}
	for chunk := range slices.Chunk(ids, idsPerStatement) {
		text, args := named(`DELETE`, chunk)
		if _, err := t.exec(ctx, text, args...); err != nil {
			return err
		}
	}
	return nil
}
