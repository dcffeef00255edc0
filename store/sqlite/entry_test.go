package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/store"
)

// A countingStmt counts how often it runs.
type countingStmt struct {
	rawStmt
	runs *int
}

func (s countingStmt) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	*s.runs++
	return s.rawStmt.ExecContext(ctx, args)
}

func (s countingStmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	*s.runs++
	return s.rawStmt.QueryContext(ctx, args)
}

type countingConn struct {
	rawConn
	runs *int
}

func (c countingConn) PrepareContext(ctx context.Context, text string) (driver.Stmt, error) {
	s, err := c.rawConn.PrepareContext(ctx, text)
	if err != nil {
		return nil, err
	}
	return countingStmt{s.(rawStmt), c.runs}, nil
}

// TestEntriesAreWrittenTogether counts the statements of calls with many
// entries, and how many different ones there are.
func TestEntriesAreWrittenTogether(t *testing.T) {
	is := is.New(t)
	ctx := t.Context()
	st := openAt(t, t.TempDir()+"/licenses.db")
	runs := 0
	inTurn(t, st.writer, func(c *conn) {
		for _, s := range c.stmts {
			is.NoErr(s.Close())
		}
		clear(c.stmts)
		c.raw = countingConn{c.raw, &runs}
	})
	for n := 1; n <= 300; n += 1 + n/8 {
		var entries []store.Entry
		var keys []string
		for i := range n {
			keys = append(keys, fmt.Sprintf("key-%03d", i))
			entries = append(entries, store.Entry{Kind: "kind", Key: keys[i]})
		}
		is.NoErr(st.Update(ctx, func(tx store.Tx) error {
			runs = 0
			err := tx.PutEntries(ctx, entries...)
			if want := (n+15)/16 + 2; runs > want || n <= 16 && runs > 1 {
				t.Errorf("PutEntries of %d ran %d statements; want at most %d", n, runs, want)
			}
			runs = 0
			err = errors.Join(err, tx.DeleteEntries(ctx, "kind", keys...))
			if want := 2 * ((n + 255) / 256); runs > want {
				t.Errorf("DeleteEntries of %d ran %d statements; want at most %d", n, runs, want)
			}
			return err
		}))
	}
	inTurn(t, st.writer, func(c *conn) {
		if len(c.stmts) > 50 {
			t.Errorf("%d statements are kept; want at most 50", len(c.stmts))
		}
	})
}

// TestPutEntriesLeavesIndexesAlone: an entry that is replaced with the same owner and expiry
// takes one statement, which removes nothing from an index.
func TestPutEntriesLeavesIndexesAlone(t *testing.T) {
	is := is.New(t)
	ctx := t.Context()
	st := openAt(t, t.TempDir()+"/licenses.db")
	removals := func(text string) (n int) {
		inTurn(t, st.writer, func(c *conn) {
			args := []any{"x", "x", "x", []byte("x"), 1, 1, 1}
			is.NoErr(c.query(ctx, "EXPLAIN "+text, args, func(r *row) {
				if r.next = 1; r.text() == "IdxDelete" {
					n++
				}
			}))
		})
		return n
	}
	is.Equal(removals(putEntries[1]), 0)
	is.True(removals(putIndexed[1]) > 0) // it shows in the program
	runs := 0
	inTurn(t, st.writer, func(c *conn) {
		for _, s := range c.stmts {
			is.NoErr(s.Close())
		}
		clear(c.stmts)
		c.raw = countingConn{c.raw, &runs}
	})
	at := time.UnixMilli(1)
	first := store.Entry{Kind: "kind", Key: "key", Owner: "owner", ExpiresAt: at, Data: []byte("1")}
	later, other := first, first
	later.ExpiresAt, other.Owner = at.Add(time.Millisecond), "other"
	for _, put := range []struct {
		entry store.Entry
		runs  int
	}{{first, 1}, {first, 1}, {other, 2}, {other, 1}, {later, 2}} {
		is.NoErr(st.Update(ctx, func(tx store.Tx) error {
			runs = 0
			err := tx.PutEntries(ctx, put.entry)
			is.Equal(runs, put.runs)
			return err
		}))
	}
}
