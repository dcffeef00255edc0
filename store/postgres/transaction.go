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
	// idleWait is how long the server waits for the next statement of an Update before it
	// rolls the Update back. It bounds how long a function may take between two calls, and
	// releases the lock of a machine that has disappeared.
	idleWait = 5 * time.Second

	// lockWait is how long an Update waits for the schema's lock. It is longer than idleWait,
	// so that an Update outwaits a machine that has disappeared.
	lockWait = 10 * time.Second

	// answerWait is how long a statement may take: longer than lockWait, so that the server
	// times out first.
	answerWait = 15 * time.Second
)

// A handle is what the function of a View or an Update is given, until it returns.
type handle struct {
	over atomic.Bool // the function has returned

	mu  sync.Mutex // held during a call
	err error      // why it cannot continue
}

// ready returns an error if the handle accepts no more calls.
func (h *handle) ready(ctx context.Context) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.usable(ctx)
}

// usable is ready for callers that hold mu.
func (h *handle) usable(ctx context.Context) error {
	if h.over.Load() {
		return store.ErrTxDone
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return h.err
}

// finish waits for a call that runs, and ends the use of the handle.
func (h *handle) finish() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.over.Store(true)
}

// A view reads the snapshot of a transaction.
type view struct {
	handle
	schema schema
	conn   *sql.Conn
}

func (v *view) query(ctx context.Context, stmt string, args []any, each func(*sql.Rows) error) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if err := v.usable(ctx); err != nil {
		return err
	}
	v.err = ask(ctx, func(ctx context.Context) error { return fetch(ctx, v.conn, v.schema.in(stmt), args, each) })
	return v.err
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
func (s *Store) begin(ctx context.Context, statements string) (*sql.Conn, error) {
	conn, err := s.conn(ctx)
	if err != nil {
		return nil, err
	}
	err = ask(ctx, func(ctx context.Context) error {
		_, err := conn.ExecContext(ctx, statements)
		return err
	})
	if err != nil {
		discard(conn)
	}
	return conn, err
}

// conn returns a connection, for which it may wait.
func (s *Store) conn(ctx context.Context) (conn *sql.Conn, err error) {
	err = ask(ctx, func(ctx context.Context) (err error) {
		conn, err = s.db.Conn(ctx)
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
