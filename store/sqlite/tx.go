package sqlite

import (
	"context"
	"database/sql/driver"
	"strings"

	"github.com/seed-d8a106b4/licensekit/store"
)

// A tx is the Tx of one run of an update's function. The methods that write
// stand beside their tables.
type tx struct {
	reader
	*session
}

var _ store.Tx = (*tx)(nil)

func newTx(c *conn) *tx {
	s := &session{conn: c, updates: true}
	return &tx{reader{s}, s}
}

// exec runs a statement that writes. A constraint refuses the statement and
// nothing else. Any other failure ends the update, whatever its function makes
// of it: the engine may have dropped the transaction, and then the next
// statement would commit by itself.
func (t *tx) exec(ctx context.Context, text string, args ...any) (driver.Result, error) {
	if err := t.ready(ctx); err != nil {
		return nil, err
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

// rows returns the parameters of n rows of a VALUES.
func rows(n, columns int) string {
	row := "(?" + strings.Repeat(", ?", columns-1) + ")"
	return row + strings.Repeat(", "+row, n-1)
}
