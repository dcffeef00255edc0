package sqlite

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/store"
)

var fills atomic.Int64 // makes the data of every entry differ from before

// fillLog runs an update that adds about 70 pages to the log.
func fillLog(t *testing.T, st *Store) {
	t.Helper()
	entries := make([]store.Entry, 64)
	for n := range entries {
		entries[n] = store.Entry{Kind: "k", Key: fmt.Sprint(n), Data: bytes.Repeat([]byte{byte(fills.Add(1))}, 4000)}
	}
	err := st.Update(t.Context(), func(tx store.Tx) error { return tx.PutEntries(t.Context(), entries...) })
	if err != nil {
		t.Error(err)
	}
}

// logLength returns how many pages the log has, and of what length it was when
// the last attempt to write it back failed.
func logLength(t *testing.T, st *Store) (pages, tried int64) {
	t.Helper()
	inTurn(t, st.writer, func(c *conn) {
		log, _, err := c.checkpoint("NOOP")
		if err != nil {
			t.Error(err)
		}
		pages, tried = log, st.writer.tried
	})
	return pages, tried
}

// noCheckpointsByCommits turns off the one that the engine does.
func noCheckpointsByCommits(t *testing.T, st *Store) {
	inTurn(t, st.writer, func(c *conn) {
		if err := c.script("PRAGMA wal_autocheckpoint = 0"); err != nil {
			t.Error(err)
		}
	})
}

// TestLogIsUsedAgainUnderSteadyUpdates, which never leave all of it written back
// by themselves.
func TestLogIsUsedAgainUnderSteadyUpdates(t *testing.T) {
	is := is.New(t)
	st := open(t)
	noCheckpointsByCommits(t, st)
	for range 40 {
		fillLog(t, st)
	}
	before, _ := logLength(t, st)
	require.Greater(t, before, 2500)
	var stop atomic.Bool
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for !stop.Load() {
				fillLog(t, st)
			}
		})
	}
	st.writer.writeBack()
	fillLog(t, st)
	stop.Store(true)
	all.Wait()
	after, _ := logLength(t, st)
	require.Less(t, after, 1500)
	is.NoErr(st.Check(t.Context()))
}

// TestLogIsWrittenBackAfterAView that needed it.
func TestLogIsWrittenBackAfterAView(t *testing.T) {
	is := is.New(t)
	st := open(t)
	noCheckpointsByCommits(t, st)
	st.writer.long = 500
	is.NoErr(st.View(t.Context(), func(store.Reader) error {
		for range 60 {
			fillLog(t, st)
		}
		st.writer.all.Wait()
		return nil
	}))
	log, tried := logLength(t, st)
	require.Greater(t, tried, 0)
	require.Greater(t, log, 4000)
	for i := 0; tried > 0 && i < 100; i++ {
		fillLog(t, st)
		st.writer.all.Wait()
		_, tried = logLength(t, st)
	}
	is.Equal(tried, int64(0))
	fillLog(t, st)
	log, _ = logLength(t, st)
	require.Less(t, log, 500)
}

// TestCloseWaitsForTheCheckpoint that an update has started.
func TestCloseWaitsForTheCheckpoint(t *testing.T) {
	is := is.New(t)
	st := open(t)
	st.writer.long = 500
	st.writer.beside.Lock()
	is.NoErr(st.Update(t.Context(), func(tx store.Tx) error {
		for i := range 2 * statementsPerLook {
			if err := tx.PutEntries(t.Context(), store.Entry{Kind: "k", Key: fmt.Sprint(i), Data: make([]byte, 40_000)}); err != nil {
				return err
			}
		}
		return nil
	}))
	is.True(st.writer.running.Load())
	closed := make(chan error)
	go func() { closed <- st.Close() }()
	waitFor(t, "closed store", func() bool { _, err := st.Entry(context.Background(), "k", "0"); return err != nil })
	select {
	case <-closed:
		t.Fatal("Close did not wait")
	default:
	}
	st.writer.beside.Unlock()
	is.NoErr(<-closed)
	is.True(!st.writer.running.Load())
}
