package sqlite

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/seed-d8a106b4/licensekit/store"
)

// A reader has the Reader's methods, which stand beside their tables, over
// whatever runs their SELECTs: the Store with its pool, a View, or an Update.
type reader struct{ from querier }

// A querier runs one SELECT and calls each for every row.
type querier interface {
	query(ctx context.Context, size size, text string, args []any, each func(*row)) error
}

// A size says how much a SELECT may read.
type size int

const (
	single size = iota // one row: ctx is checked only before
	exact              // a page of rows, every one of which matches: ctx ends it between two rows
	scan               // any number of rows: ctx ends it at any time
	search             // the same, of large parts of a table, so that others must not wait for it
)

// one returns the row that the SELECT finds, or [store.ErrNotFound].
func one[T any](ctx context.Context, r reader, scan func(*row) T, text string, args ...any) (found T, err error) {
	err = store.ErrNotFound
	if failed := r.from.query(ctx, single, text, args, func(r *row) { found, err = scan(r), nil }); failed != nil {
		err = failed
	}
	return found, err
}

// list returns the rows that the selection finds.
func list[T any](ctx context.Context, r reader, scan func(*row) T, s *selection) (found []T, err error) {
	err = r.from.query(ctx, s.size(), s.text.String(), s.args, func(r *row) {
		if found == nil {
			found = make([]T, 0, min(s.limit, 32)) // most lists then grow no more
		}
		found = append(found, scan(r))
	})
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

	mu  sync.Mutex // held during a statement
	err error      // what the engine failed with: the transaction may be gone
}

// ready reports why the session may not be used, if so.
func (s *session) ready(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.usable(ctx)
}

// usable is ready for callers that hold mu.
func (s *session) usable(ctx context.Context) error {
	if s.over.Load() {
		return store.ErrTxDone
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return s.err
}

func (s *session) query(ctx context.Context, size size, text string, args []any, each func(*row)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usable(ctx); err != nil {
		return err
	}
	if s.updates {
		size = single
	}
	err := s.conn.read(ctx, size, text, args, each)
	if err != nil && (size == single || ctx.Err() == nil) {
		s.err = sentinel(err)
		return s.err
	}
	return err
}

// fail makes every later call fail with err.
func (s *session) fail(err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
	return err
}

// end makes every later call return ErrTxDone, and returns what the session failed
// with.
func (s *session) end() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over.Store(true)
	return s.err
}

// read runs a SELECT of that size.
func (c *conn) read(ctx context.Context, size size, text string, args []any, each func(*row)) error {
	switch {
	case size >= scan && ctx.Done() != nil:
		return c.scan(ctx, text, args, each)
	case size == single:
		ctx = context.Background()
	}
	return c.query(ctx, text, args, each)
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
	if _, err := c.exec("SELECT 1 FROM entries LIMIT 1"); err != nil {
		return wrap(sentinel(err), "view")
	}
	return fn(reader{view})
}

// query runs a SELECT of its own on a connection of a pool. Reads of one row
// have a pool to themselves, so that they never wait for a list, and lists never
// wait for a search or a count, of which one runs at a time.
func (s *Store) query(ctx context.Context, size size, text string, args []any, each func(*row)) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.leave()
	p := s.lists
	switch size {
	case single:
		p = s.readers
	case search:
		p = s.searches
	}
	c, err := p.take(ctx)
	if err != nil {
		return err
	}
	defer p.put(c)
	if err := c.read(ctx, size, text, args, each); err != nil {
		return sentinel(err)
	}
	return nil
}
