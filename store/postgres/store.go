package postgres

import (
	"context"
	"database/sql"
	"errors"
	"sync/atomic"

	"github.com/seed-d8a106b4/licensekit/store"
)

// Options configures a [Store]. The zero value is ready to use.
type Options struct {
	// Schema is the name of the schema that contains the tables, exactly as
	// PostgreSQL stores it: it is case-sensitive and may contain any
	// character except NUL, up to 63 bytes. Empty means "public". The
	// search_path of the connections is ignored, so the same options always
	// select the same tables.
	//
	// Two Stores with different schemas share only the database.
	Schema string
}

// A Store keeps licensing data in one schema of a PostgreSQL database. It is
// safe for concurrent use, within a process and across processes. Create one
// with [New].
type Store struct {
	reader
	db     *sql.DB
	schema schema

	closed atomic.Bool

	explicit atomic.Bool   // calls begin with BEGIN: see call
	reads    chan struct{} // holds a value for each read of an Update without the lock
	promoted chan struct{} // holds a value while an Update is promoted
	batches  batches
}

var _ store.Store = (*Store)(nil)

// New returns the Store of a schema. Like [Migrate], it creates the tables if
// they do not exist and upgrades them if an older version created them. If they
// are up to date, it changes nothing and needs no more privileges than the
// Store itself.
//
// It returns an error if db is nil, the schema name is invalid, a newer version of this package
// has upgraded the tables in a way that this one cannot use, or the database encoding
// is not UTF8. It returns [store.ErrUnavailable] if the database cannot be reached.
func New(ctx context.Context, db *sql.DB, opts Options) (*Store, error) {
	schema, err := prepare(ctx, db, opts)
	if err != nil {
		return nil, err
	}
	return newOn(db, schema), nil
}

// newOn returns a Store on a schema that is ready.
func newOn(db *sql.DB, schema schema) *Store {
	s := &Store{
		db:       db,
		schema:   schema,
		reads:    make(chan struct{}, maxReads),
		promoted: make(chan struct{}, 1),
		batches:  newBatches(),
	}
	s.reader = reader{direct{s}}
	return s
}

// Close closes the Store: later calls return [store.ErrUnavailable], and calls
// in progress may finish. It does not close the [sql.DB], which the host owns.
// Close always returns nil.
func (s *Store) Close() error {
	s.closed.Store(true)
	return nil
}

// maxReads is how many connections Updates use to read at a time.
const maxReads = 32

// beginView takes the snapshot immediately rather than at the first read.
const beginView = `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SELECT 1`

// lock takes the schema's lock, the one row of a table that nothing removes. While a
// transaction holds it, its statements see all that other Updates have committed, and no
// other is written.
const lock = `SELECT FROM licensing_schema FOR UPDATE`

// View calls fn with a Reader on one snapshot, taken when View begins. It never
// blocks an Update. If the connection is lost, the next read returns
// [store.ErrUnavailable].
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
	v := &view{schema: s.schema, conn: conn}
	defer func() { // also when fn panics
		v.finish()
		end(ctx, conn, "ROLLBACK")
	}()
	return fn(reader{direct{v}})
}

// query runs a statement on any free connection. If that connection turns out to
// be lost, it runs the statement again on another, because a read can be
// repeated.
func (s *Store) query(ctx context.Context, stmt string, args []any, each func(*sql.Rows) error) error {
	stmt = s.schema.in(stmt)
	return retry(ctx, func() error {
		if err := s.ready(ctx); err != nil {
			return err
		}
		return ask(ctx, func(ctx context.Context) error { return fetch(ctx, s.db, stmt, args, each) })
	})
}

// ready returns an error if ctx has ended or the Store is closed.
func (s *Store) ready(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.closed.Load() {
		return errClosed
	}
	return nil
}

// fetch runs a statement and calls each to read its rows.
func fetch(ctx context.Context, q interface {
	QueryContext(ctx context.Context, stmt string, args ...any) (*sql.Rows, error)
}, stmt string, args []any, each func(*sql.Rows) error) error {
	rows, err := q.QueryContext(ctx, stmt, args...)
	if err != nil {
		return err
	}
	return errors.Join(each(rows), rows.Close())
}
