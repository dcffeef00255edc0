// Package maria is a backend for licensekit on MariaDB or MySQL: what package kv derives
// from an ordered map, and that map as a table of InnoDB.
//
// An Update holds the lock of one row from its start, so Updates of all processes run one
// after another and none runs again. A View reads a snapshot, and waits for nothing.
package maria

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/go-sql-driver/mysql"

	"example.com/thirdparty/kv"
	"github.com/seed-d8a106b4/licensekit/store"
)

// New returns a store in a table, which it creates if there is none. The name of the table
// is not escaped. Connections have the isolation REPEATABLE READ, which is the default of
// the server, and interpolateParams=true saves a round trip in each call. A View and an Update
// take a connection each, and wait for one if db has no more. Close leaves db open, which
// stores can share.
func New(ctx context.Context, db *sql.DB, table string) (*kv.Store, error) {
	e := &engine{db: db, table: table, turn: make(chan struct{}, 1)}
	for _, statement := range []string{
		"CREATE TABLE IF NOT EXISTS %s (k VARBINARY(3072) PRIMARY KEY, v MEDIUMBLOB NOT NULL) ENGINE=InnoDB ROW_FORMAT=DYNAMIC",
		"INSERT IGNORE INTO %s VALUES ('', '')", // the row that Updates lock; no record has its key
	} {
		if _, err := db.ExecContext(ctx, fmt.Sprintf(statement, table)); err != nil {
			return nil, fmt.Errorf("maria: table %s: %w", table, temporary(err))
		}
	}
	return kv.New(e), nil
}

// An engine is a kv.Engine.
type engine struct {
	db     *sql.DB
	table  string
	turn   chan struct{} // held by the Update of this process that runs
	closed atomic.Bool
}

// Close makes later calls fail.
func (e *engine) Close() error {
	e.closed.Store(true)
	return nil
}

// View implements kv.Engine.
func (e *engine) View(ctx context.Context, fn func(kv.Reader) error) error {
	return e.run(ctx, func(t *tx) error { return fn(t) }, "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY")
}

// Update implements kv.Engine. It waits for the Updates of this process before it takes a
// connection and waits for those of others.
func (e *engine) Update(ctx context.Context, fn func(kv.Tx) error) error {
	select {
	case e.turn <- struct{}{}:
		defer func() { <-e.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	return e.run(ctx, func(t *tx) error { return fn(t) }, "START TRANSACTION", "SELECT v FROM "+e.table+" WHERE k = '' FOR UPDATE")
}

// run calls fn in a transaction that begins with some statements. A context ends the wait for
// its beginning, and nothing later.
func (e *engine) run(ctx context.Context, fn func(*tx) error, begin ...string) error {
	if e.closed.Load() {
		return fmt.Errorf("maria: closed: %w", store.ErrUnavailable)
	}
	conn, err := e.db.Conn(ctx)
	if err != nil {
		return cmp.Or(ctx.Err(), temporary(err))
	}
	defer conn.Close()
	always := context.WithoutCancel(ctx)
	committed := false
	defer func() { // also after a panic
		if committed {
			return
		}
		if _, err := conn.ExecContext(always, "ROLLBACK"); err != nil {
			conn.Raw(func(any) error { return driver.ErrBadConn }) // the server rolls back when it is closed
		}
	}()
	for _, statement := range begin {
		_, err := conn.ExecContext(ctx, statement) // ends the connection if ctx ends, and with it the wait
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			return fmt.Errorf("maria: begin: %w", temporary(err))
		}
	}
	if e.closed.Load() {
		return fmt.Errorf("maria: closed: %w", store.ErrUnavailable)
	}
	t := &tx{conn: conn, table: e.table}
	if err := fn(t); err != nil || !t.wrote {
		return err
	}
	if _, err := conn.ExecContext(always, "COMMIT"); err != nil {
		return fmt.Errorf("maria: commit: %w: %w", store.ErrUnknownOutcome, err)
	}
	committed = true
	return nil
}

// A tx reads and writes rows of the table.
type tx struct {
	conn  *sql.Conn
	table string
	wrote bool
}

// most is how many keys, and about how many bytes, a statement has.
const (
	mostKeys  = 1000
	mostBytes = 4 << 20
)

// Get implements kv.Reader.
func (t *tx) Get(ctx context.Context, keys ...string) ([][]byte, error) {
	found := map[string][]byte{}
	for some := range slices.Chunk(keys, mostKeys) {
		rows, err := t.query(ctx, "SELECT k, v FROM "+t.table+" WHERE k IN ("+marks("?", len(some))+")", values(some)...)
		if err != nil {
			return nil, err
		}
		for _, r := range rows {
			found[r.Key] = r.Value
		}
	}
	all := make([][]byte, len(keys))
	for i, k := range keys {
		all[i] = found[k]
	}
	return all, nil
}

// Scan implements kv.Reader.
func (t *tx) Scan(ctx context.Context, lo, hi string, descending bool, limit int) ([]kv.Row, error) {
	order := " ORDER BY k LIMIT ?"
	if descending {
		order = " ORDER BY k DESC LIMIT ?"
	}
	return t.query(ctx, "SELECT k, v FROM "+t.table+" WHERE k >= ? AND k < ?"+order, []byte(lo), []byte(hi), limit)
}

func (t *tx) query(ctx context.Context, text string, args ...any) (found []kv.Row, err error) {
	rows, err := t.conn.QueryContext(context.WithoutCancel(ctx), text, args...)
	if err != nil {
		return nil, temporary(err)
	}
	defer rows.Close()
	for rows.Next() {
		var r kv.Row
		if err := rows.Scan(&r.Key, &r.Value); err != nil {
			return nil, err
		}
		found = append(found, r)
	}
	return found, temporary(rows.Err())
}

// Set implements kv.Tx.
func (t *tx) Set(ctx context.Context, rows ...kv.Row) error {
	t.wrote = true
	var gone []string
	var put []any
	size := 0
	write := func() error {
		if len(put) == 0 {
			return nil
		}
		n := len(put) / 2
		_, err := t.conn.ExecContext(context.WithoutCancel(ctx), "REPLACE INTO "+t.table+" VALUES "+marks("(?,?)", n), put...)
		put, size = nil, 0
		return temporary(err)
	}
	for _, r := range rows {
		if r.Value == nil {
			gone = append(gone, r.Key)
			continue
		}
		put, size = append(put, []byte(r.Key), r.Value), size+len(r.Key)+len(r.Value)
		if size >= mostBytes || len(put) >= 2*mostKeys {
			if err := write(); err != nil {
				return err
			}
		}
	}
	for some := range slices.Chunk(gone, mostKeys) {
		if _, err := t.conn.ExecContext(context.WithoutCancel(ctx), "DELETE FROM "+t.table+" WHERE k IN ("+marks("?", len(some))+")", values(some)...); err != nil {
			return temporary(err)
		}
	}
	return write()
}

func marks(mark string, n int) string { return strings.TrimSuffix(strings.Repeat(mark+",", n), ",") }

// values returns keys as bytes, which the server compares as such.
func values(keys []string) []any {
	all := make([]any, len(keys))
	for i, k := range keys {
		all[i] = []byte(k)
	}
	return all
}

// refusals are the errors of a server that is busy, full, read-only or stopping.
var refusals = []uint16{1021, 1040, 1041, 1053, 1114, 1203, 1205, 1213, 1290, 1927}

// temporary returns err, as store.ErrUnavailable if the server cannot serve or is out of reach.
func temporary(err error) error {
	said, ok := errors.AsType[*mysql.MySQLError](err)
	if err == nil || ok && !slices.Contains(refusals, said.Number) {
		return err
	}
	return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
}
