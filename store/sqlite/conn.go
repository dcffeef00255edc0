package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	engine "modernc.org/sqlite"

	"github.com/seed-d8a106b4/licensekit/store"
)

// A conn is one connection to the file, with its prepared statements, for use by
// one goroutine at a time. It calls the driver without database/sql, because
// *sql.Tx does not support a transaction that several callers share, and the pool
// and Scan of database/sql take a third of the time of a read.
type conn struct {
	raw   rawConn
	stmts map[string]rawStmt // by their text

	// For the statement that runs; the driver keeps neither.
	args []driver.NamedValue
	row  row
}

// maxStmts is the largest number of prepared statements per connection. Lists
// have about a thousand combinations of filters, of which a program uses a few.
const maxStmts = 256

type rawConn interface {
	driver.Conn
	driver.ConnPrepareContext
	driver.ExecerContext
}

type rawStmt interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

// connect opens a connection and runs the pragmas of dsn.
func connect(dsn string) (*conn, error) {
	connector, err := engine.NewConnector(dsn)
	if err != nil {
		return nil, err
	}
	raw, err := connector.Connect(context.Background())
	if err != nil {
		return nil, err
	}
	return &conn{raw: raw.(rawConn), stmts: make(map[string]rawStmt)}, nil
}

func (c *conn) close() error {
	var errs []error
	for _, s := range c.stmts {
		errs = append(errs, s.Close())
	}
	return errors.Join(append(errs, c.raw.Close())...)
}

// script runs statements without keeping them prepared.
func (c *conn) script(text string) error {
	_, err := c.raw.ExecContext(context.Background(), text, nil)
	return err
}

// exec runs a statement that returns no rows. It takes no context: if a context
// ended during a statement, the engine would roll back the whole transaction and
// with it the changes of other updates.
func (c *conn) exec(text string, args ...any) (driver.Result, error) {
	s, err := c.prepared(text)
	if err != nil {
		return nil, err
	}
	defer c.unbind()
	return s.ExecContext(context.Background(), c.bind(args))
}

// query runs a statement and calls each for every row. The end of ctx stops
// it between two rows.
func (c *conn) query(ctx context.Context, text string, args []any, each func(*row)) error {
	return c.rows(ctx, context.Background(), text, args, each)
}

// scan runs a SELECT that may skip many rows before each row it returns. The
// end of ctx stops it at any time, at the price of a goroutine. The driver
// interrupts only the first step of a statement, the one that ends with the
// first row, so the first step has to find all rows.
func (c *conn) scan(ctx context.Context, text string, args []any, each func(*row)) error {
	return c.rows(ctx, ctx, `WITH page AS MATERIALIZED (`+text+`) SELECT * FROM page`, args, each)
}

// rows runs a statement and calls each for every row. The end of ctx stops it
// between two rows, the end of interrupt during its first step.
func (c *conn) rows(ctx, interrupt context.Context, text string, args []any, each func(*row)) error {
	s, err := c.prepared(text)
	if err != nil {
		return err
	}
	defer c.unbind()
	rows, err := s.QueryContext(interrupt, c.bind(args))
	if err != nil {
		return err
	}
	defer rows.Close()
	r := &c.row
	r.values = slices.Grow(r.values[:0], len(rows.Columns()))[:len(rows.Columns())]
	for {
		switch err := rows.Next(r.values); {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		}
		r.next = 0
		each(r)
	}
}

// integer returns the first column of the first row, such as the value of a pragma.
func (c *conn) integer(text string) (n int64, err error) {
	err = c.query(context.Background(), text, nil, func(r *row) { n = r.integer() })
	return n, err
}

func (c *conn) prepared(text string) (rawStmt, error) {
	if s, ok := c.stmts[text]; ok {
		return s, nil
	}
	if len(c.stmts) >= maxStmts {
		for old, s := range c.stmts { // any of them
			delete(c.stmts, old)
			if err := s.Close(); err != nil {
				return nil, err
			}
			break
		}
	}
	s, err := c.raw.PrepareContext(context.Background(), text)
	if err != nil {
		return nil, err
	}
	c.stmts[text] = s.(rawStmt)
	return c.stmts[text], nil
}

// bind converts the values of records to the types of columns. The zero time and
// the empty document become NULL.
func (c *conn) bind(args []any) []driver.NamedValue {
	c.args = slices.Grow(c.args[:0], len(args))[:len(args)]
	for i, arg := range args {
		switch v := arg.(type) {
		case time.Time:
			arg = nil
			if !v.IsZero() {
				arg = v.UnixMilli()
			}
		case []byte:
			if len(v) == 0 {
				arg = nil
			}
		case int:
			arg = int64(v)
		case store.State:
			arg = string(v)
		case string, int64:
		default:
			panic(fmt.Sprintf("sqlite: no column holds a %T", arg))
		}
		c.args[i] = driver.NamedValue{Ordinal: i + 1, Value: arg}
	}
	return c.args
}

// unbind forgets the values of the statement that has run.
func (c *conn) unbind() {
	clear(c.args)
	clear(c.row.values)
}

// A row is read column by column, in the order of its SELECT. The caller owns the
// values.
type row struct {
	values []driver.Value
	next   int
}

func (r *row) value() driver.Value {
	r.next++
	return r.values[r.next-1]
}

func (r *row) text() string {
	s, _ := r.value().(string) // tables are STRICT
	return s
}

func (r *row) integer() int64 {
	n, _ := r.value().(int64)
	return n
}

func (r *row) bytes() []byte {
	b, _ := r.value().([]byte)
	return b
}

func (r *row) time() time.Time {
	if ms, ok := r.value().(int64); ok {
		return time.UnixMilli(ms).UTC()
	}
	return time.Time{}
}
