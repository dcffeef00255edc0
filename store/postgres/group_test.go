package postgres

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/require"
	"github.com/seed-d8a106b4/licensekit/store"
)

// A script is a server that records the statements of a connection and rejects
// statements that begin with refused.
type script struct {
	driver.Conn // nil: none of its methods is called
	heard       []string
	refused     string
}

func (s *script) Connect(context.Context) (driver.Conn, error) { return s, nil }
func (s *script) Driver() driver.Driver                        { return nil }
func (s *script) Close() error                                 { return nil }

func (s *script) ExecContext(_ context.Context, stmt string, _ []driver.NamedValue) (driver.Result, error) {
	word, _, _ := strings.Cut(strings.TrimSpace(stmt), " ")
	s.heard = append(s.heard, word)
	if s.refused != "" && strings.HasPrefix(stmt, s.refused) {
		return nil, coded("57014")
	}
	return driver.RowsAffected(1), nil
}

// TestFailedSavepoint: there may be an older savepoint, and a rollback to it
// would undo the writes of other members of the group.
//
// Fault: the group is committed without them, and they report success.
func TestFailedSavepoint(t *testing.T) {
	is := is.New(t)
	server := &script{}
	db := sql.OpenDB(server)
	defer db.Close()
	conn, err := db.Conn(t.Context())
	is.NoErr(err)
	g := &group{conn: conn, done: make(chan struct{})}
	write := func(tx store.Tx) error { return tx.PutEntries(t.Context(), store.Entry{Kind: "k", Key: "k"}) }

	is.NoErr(g.run(t.Context(), g.transaction(), write))
	is.NoErr(g.run(t.Context(), g.transaction(), write))
	server.refused = "RELEASE"
	err = g.run(t.Context(), g.transaction(), write)
	require.ErrorIs(t, err, store.ErrUnavailable)
	g.end(t.Context())

	is.Equal(server.heard, []string{"INSERT", "SAVEPOINT", "INSERT", "RELEASE"}) // and no COMMIT
	is.True(again(g.outcome(nil)))                                               // the first two run again
}
