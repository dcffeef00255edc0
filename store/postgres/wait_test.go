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

	"github.com/seed-d8a106b4/licensekit/internal/require"
	"github.com/seed-d8a106b4/licensekit/store"
)

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
