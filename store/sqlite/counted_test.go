package sqlite

import (
	"context"
	"database/sql/driver"
	"testing"

	"github.com/matryer/is"
)

// A countedConn counts the statements that it runs.
type countedConn struct {
	rawConn
	ran *int
}

func (c countedConn) PrepareContext(ctx context.Context, text string) (driver.Stmt, error) {
	s, err := c.rawConn.PrepareContext(ctx, text)
	if err != nil {
		return nil, err
	}
	return countedStmt{s.(rawStmt), c.ran}, nil
}

type countedStmt struct {
	rawStmt
	ran *int
}

func (s countedStmt) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	*s.ran++
	return s.rawStmt.ExecContext(ctx, args)
}

func (s countedStmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	*s.ran++
	return s.rawStmt.QueryContext(ctx, args)
}

// count counts the statements of each connection that one caller uses.
func (s *Store) count(t *testing.T, ran *int) {
	is := is.New(t)
	conns := []*conn{s.writer.conn}
	for _, p := range []*pool{s.readers, s.lists, s.searches, s.views} {
		c, err := p.take(t.Context())
		is.NoErr(err)
		defer p.put(c)
		conns = append(conns, c)
	}
	for _, c := range conns {
		for text, stmt := range c.stmts {
			is.NoErr(stmt.Close())
			delete(c.stmts, text)
		}
		c.raw = countedConn{c.raw, ran}
	}
}
