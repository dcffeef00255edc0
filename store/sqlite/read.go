package sqlite

import (
	"context"
	"sync/atomic"

	"github.com/seed-d8a106b4/licensekit/store"
)

// A reader has the Reader's methods, which stand beside their tables, over
// whatever runs their SELECTs: the Store with its pool, a View, or an Update.
type reader struct{ from querier }

// A querier runs one SELECT and calls each for every row. A long one may be
// stopped by the end of ctx while it runs; for the others ctx counts only
// before.
type querier interface {
	query(ctx context.Context, long bool, text string, args []any, each func(*row)) error
}

// one returns the row that the SELECT finds, or [store.ErrNotFound].
func one[T any](ctx context.Context, r reader, scan func(*row) T, text string, args ...any) (found T, err error) {
	err = store.ErrNotFound
	if failed := r.from.query(ctx, false, text, args, func(r *row) { found, err = scan(r), nil }); failed != nil {
		err = failed
	}
	return found, err
}

// list returns the rows that the selection finds.
func list[T any](ctx context.Context, r reader, scan func(*row) T, s *selection) (found []T, err error) {
	err = r.from.query(ctx, true, s.text.String(), s.args, func(r *row) { found = append(found, scan(r)) })
	if err != nil {
		return nil, err
	}
	return found, nil
}

// A session is what a View's Reader and an Update's Tx read through: one
// connection in a transaction, until the function that has it returns.
type session struct {
	conn    *conn
	updates bool // the transaction is shared: no statement may be stopped
	over    atomic.Bool
	err     error // what the engine failed with: the transaction may be gone
}

// ready reports why the session may not be used, if so.
func (s *session) ready(ctx context.Context) error {
	if s.over.Load() {
		return store.ErrTxDone
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return s.err
}

func (s *session) query(ctx context.Context, long bool, text string, args []any, each func(*row)) error {
	if err := s.ready(ctx); err != nil {
		return err
	}
	if s.updates || !long {
		ctx = context.Background()
	}
	err := s.conn.query(ctx, text, args, each)
	if err != nil && ctx.Err() == nil {
		s.err = sentinel(err)
		return s.err
	}
	return err
}

// View calls fn with a Reader on what is committed now. It takes one of the
// connections for reading as long as fn runs.
func (s *Store) View(ctx context.Context, fn func(store.Reader) error) error {
	if err := s.enter(ctx); err != nil {
		return wrap(err, "view")
	}
	defer s.leave()
	c, err := s.views.take(ctx)
	if err != nil {
		return wrap(err, "view")
	}
	defer s.views.put(c)

	if _, err := c.exec("BEGIN"); err != nil {
		return wrap(sentinel(err), "view")
	}
	view := &session{conn: c}
	defer func() { // also when fn panics
		view.over.Store(true)
		c.exec("ROLLBACK") // it wrote nothing
	}()
	// A transaction has its snapshot from its first read on.
	if _, err := c.exec("SELECT 1 FROM tally LIMIT 1"); err != nil {
		return wrap(sentinel(err), "view")
	}
	return fn(reader{view})
}

// query runs a SELECT of its own on a connection of the pool.
func (s *Store) query(ctx context.Context, long bool, text string, args []any, each func(*row)) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.leave()
	c, err := s.readers.take(ctx)
	if err != nil {
		return err
	}
	defer s.readers.put(c)
	if !long {
		ctx = context.Background()
	}
	if err := c.query(ctx, text, args, each); err != nil {
		return sentinel(err)
	}
	return nil
}
