package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

// Options are the settings of a [Store]. The zero value is ready for use.
type Options struct {
	// Schema is the name of the schema with the tables, exactly as
	// PostgreSQL knows it: case counts, and any character but NUL may be in
	// it, up to 63 bytes. Empty means "public". The search_path of the
	// connections has no say, so that the same options always mean the same
	// tables.
	//
	// Two Stores with different schemas share nothing but the database.
	Schema string
}

// A Store keeps one register in one schema of a PostgreSQL database. It is safe
// for concurrent use, in one process and in many. [New] makes one.
type Store struct {
	reader
	db     *sql.DB
	schema schema

	closed atomic.Bool

	lockWait time.Duration // how long an Update waits for the lock
	lead     chan struct{} // holds one value while a group is open to Updates
	join     chan *group   // hands the open group to whoever waits
}

var _ store.Store = (*Store)(nil)

// New returns the Store of a schema, and creates or migrates its tables if they
// are not there or are of an older version, as [Migrate] does. If they are up to
// date, it changes nothing and needs no more rights than the Store itself.
//
// It returns an error if the schema's name is not possible, the tables are of a
// version that this package does not know, or the database's encoding is not
// UTF8; and [store.ErrUnavailable] if the database cannot be reached.
func New(ctx context.Context, db *sql.DB, opts Options) (*Store, error) {
	schema, err := newSchema(opts.Schema)
	if err != nil {
		return nil, err
	}
	if err := schema.prepare(ctx, db); err != nil {
		return nil, err
	}
	s := &Store{
		db:       db,
		schema:   schema,
		lockWait: lockWait,
		lead:     make(chan struct{}, 1),
		join:     make(chan *group),
	}
	s.reader = reader{s}
	return s, nil
}

// Close ends the use of the Store: every later call returns
// [store.ErrUnavailable], and what has begun may finish. The database stays
// open, since it is its owner's. Close always returns nil.
func (s *Store) Close() error {
	s.closed.Store(true)
	return nil
}

// beginView fixes the snapshot at once, and not at the first read.
const beginView = `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SELECT 1`

// beginUpdate returns the statements that begin an Update and wait so long for
// the lock. Once they have the lock of the register, every statement of the
// transaction sees all that Updates have committed before, and no other Update
// begins.
func (s schema) beginUpdate(wait time.Duration) string {
	return fmt.Sprintf(`BEGIN ISOLATION LEVEL READ COMMITTED;
		SET LOCAL lock_timeout = %d;
		SET LOCAL idle_in_transaction_session_timeout = %d;
		SELECT pg_advisory_xact_lock(%d)`,
		max(1, wait.Milliseconds()), idleWait.Milliseconds(), s.lock) // a lock_timeout of 0 is none
}

// View calls fn with a Reader on one snapshot, taken when View begins. It never
// makes an Update wait. If the connection is lost on the way, the next read
// returns [store.ErrUnavailable].
func (s *Store) View(ctx context.Context, fn func(store.Reader) error) error {
	var conn *sql.Conn
	err := retry(ctx, func() (err error) {
		if err := s.ready(ctx); err != nil {
			return err
		}
		conn, err = s.begin(ctx, beginView)
		return err
	})
	if err != nil {
		return about(err, "view")
	}
	t := &transaction{schema: s.schema, conn: conn}
	defer func() { // also when fn panics
		t.over.Store(true)
		end(ctx, conn, "ROLLBACK")
	}()
	return fn(reader{t})
}

// query runs a statement on whatever connection is free, and again on another
// if that turns out to be lost: a read can be repeated.
func (s *Store) query(ctx context.Context, stmt string, args []any, each func(*sql.Rows) error) error {
	stmt = s.schema.in(stmt)
	return retry(ctx, func() error {
		if err := s.ready(ctx); err != nil {
			return err
		}
		return ask(ctx, func(ctx context.Context) error { return fetch(ctx, s.db, stmt, args, each) })
	})
}

// ready returns why the Store cannot answer, if it cannot.
func (s *Store) ready(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.closed.Load() {
		return errClosed
	}
	return nil
}

// fetch runs a statement and has each read its rows.
func fetch(ctx context.Context, q interface {
	QueryContext(ctx context.Context, stmt string, args ...any) (*sql.Rows, error)
}, stmt string, args []any, each func(*sql.Rows) error) error {
	rows, err := q.QueryContext(ctx, stmt, args...)
	if err != nil {
		return err
	}
	return errors.Join(each(rows), rows.Close())
}
