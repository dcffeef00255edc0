package postgres

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

// Time limits in addition to the caller's context.
const (
	// idleWait is how long the server waits for the next statement of an
	// Update before it rolls the Update back. It bounds how long a function
	// may take between two calls, and releases the lock of a machine that
	// has disappeared.
	idleWait = 5 * time.Second

	// lockWait is how long an Update waits for the schema's lock. It is
	// longer than idleWait, so that an Update outwaits a machine that has
	// disappeared.
	lockWait = 10 * time.Second

	// answerWait is how long a statement may take. It is longer than
	// lockWait, so that the server times out first.
	answerWait = 15 * time.Second
)

// A transaction is the view that one function, of a View or an Update, has of
// the database transaction on a connection.
type transaction struct {
	schema schema
	conn   *sql.Conn
	// update is set for an Update. A driver closes the connection when the context of a
	// statement ends, so its statements run without the caller's cancellation.
	update bool

	over atomic.Bool // the function has returned

	mu  sync.Mutex // held during a statement
	err error      // why a statement failed; later statements fail too
}

// query runs a statement that reads.
func (t *transaction) query(ctx context.Context, stmt string, args []any, each func(*sql.Rows) error) error {
	return t.run(ctx, func(ctx context.Context) error {
		return fetch(ctx, t.conn, t.schema.in(stmt), args, each)
	})
}

// write runs a statement that writes, and returns the number of rows it changed
// or, if it ends with a SELECT, selected.
func (t *transaction) write(ctx context.Context, stmt string, args ...any) (n int64, err error) {
	err = t.run(ctx, func(ctx context.Context) error {
		result, err := t.conn.ExecContext(ctx, t.schema.in(stmt), args...)
		if err != nil {
			return err
		}
		n, err = result.RowsAffected()
		return err
	})
	return n, err
}

// ready returns an error if the transaction accepts no more statements.
func (t *transaction) ready(ctx context.Context) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.usable(ctx)
}

// usable is ready for callers that hold mu.
func (t *transaction) usable(ctx context.Context) error {
	if t.over.Load() {
		return store.ErrTxDone
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return t.err
}

// run calls statement if the transaction is ready, and records its error.
func (t *transaction) run(ctx context.Context, statement func(context.Context) error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.usable(ctx); err != nil {
		return err
	}
	if t.update {
		ctx = context.WithoutCancel(ctx)
	}
	t.err = ask(ctx, statement)
	return t.err
}

// ask runs a statement for at most answerWait, and maps its error to one of the
// store contract.
func ask(ctx context.Context, statement func(context.Context) error) error {
	bounded, cancel := context.WithTimeout(ctx, answerWait)
	defer cancel()
	err := statement(bounded)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case bounded.Err() != nil:
		return fmt.Errorf("%w: %v", errSilent, err)
	}
	return explain(err)
}

// begin opens a transaction with the given statements, in one round trip. The
// wait for a connection and for the response ends with ctx.
func (s *Store) begin(ctx context.Context, statements string) (conn *sql.Conn, err error) {
	err = ask(ctx, func(ctx context.Context) (err error) {
		if conn, err = s.db.Conn(ctx); err != nil {
			return err
		}
		if _, err = conn.ExecContext(ctx, statements); err != nil {
			discard(conn)
		}
		return err
	})
	return conn, err
}

// end ends the transaction on conn with COMMIT or ROLLBACK, even if ctx has
// ended, and releases the connection.
func end(ctx context.Context, conn *sql.Conn, how string) error {
	err := ask(context.WithoutCancel(ctx), func(ctx context.Context) error {
		_, err := conn.ExecContext(ctx, how)
		if err == nil {
			// A driver that gives up cancels the COMMIT, and PostgreSQL then reports
			// success, although the synchronous standby has not confirmed it.
			err = ctx.Err()
		}
		return err
	})
	if err != nil {
		discard(conn)
	} else {
		conn.Close()
	}
	return err
}

// discard closes a connection in an unknown state instead of returning it to the
// pool.
func discard(conn *sql.Conn) {
	conn.Raw(func(any) error { return driver.ErrBadConn })
	conn.Close()
}
