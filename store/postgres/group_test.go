package postgres

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

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

// A lockedServer is a server whose lock another machine holds: each wait for the
// lock fails after the lock_timeout of its transaction.
type lockedServer struct{ driver.Conn }

func (s lockedServer) Connect(context.Context) (driver.Conn, error) { return s, nil }
func (s lockedServer) Driver() driver.Driver                        { return nil }
func (s lockedServer) Close() error                                 { return nil }

func (s lockedServer) ExecContext(_ context.Context, stmt string, _ []driver.NamedValue) (driver.Result, error) {
	_, after, _ := strings.Cut(stmt, "lock_timeout = ")
	var ms int
	if _, err := fmt.Sscan(strings.TrimSuffix(strings.Fields(after)[0], ";"), &ms); err != nil {
		return nil, err
	}
	time.Sleep(time.Duration(ms) * time.Millisecond)
	return nil, coded("55P03") // lock_not_available
}

// TestAllWaitersGiveUpTogether: each Update's wait for the lock counts from its
// own call.
func TestAllWaitersGiveUpTogether(t *testing.T) {
	const wait, waiters = 200 * time.Millisecond, 8
	db := sql.OpenDB(lockedServer{})
	defer db.Close()
	s := &Store{db: db, lockWait: wait, lead: make(chan struct{}, 1), join: make(chan *transaction)}
	begun := time.Now()
	var wg sync.WaitGroup
	for range waiters {
		wg.Go(func() {
			err := s.Update(t.Context(), func(store.Tx) error { return errors.New("has run") })
			require.ErrorIs(t, err, store.ErrUnavailable)
		})
	}
	wg.Wait()
	require.Less(t, time.Since(begun), waiters*wait/2) // the waits overlap
}
