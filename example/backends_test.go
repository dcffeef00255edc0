package main

import (
	"flag"
	"path/filepath"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/licensing/licensingtest"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
	"github.com/seed-d8a106b4/licensekit/store/sqlite"
	"github.com/seed-d8a106b4/licensekit/storetest"
)

// The suites over the service on every backend are in this package because no
// host imports it, so the dependencies of its tests do not reach a host's go.sum.

func TestAPIOnSQLite(t *testing.T) {
	t.Parallel()
	licensingtest.RunAPI(t, openSQLite)
}

var repeats = flag.Bool("repeats", false, "also run the suites on stores that run every Update twice")

// TestRepeats runs with -repeats only: it takes as long as all other tests, and
// rarely finds what they do not.
func TestRepeats(t *testing.T) {
	if !*repeats {
		return
	}
	onMemoryTwice := func(*testing.T) store.Store { return storetest.Twice(memory.New()) }
	onSQLiteTwice := func(t *testing.T) store.Store { return storetest.Twice(openSQLite(t)) }
	t.Run("APIOnMemoryTwice", func(t *testing.T) { licensingtest.RunAPI(t, onMemoryTwice) })
	t.Run("APIOnSQLiteTwice", func(t *testing.T) { licensingtest.RunAPI(t, onSQLiteTwice) })
	t.Run("ServiceOnSQLite", func(t *testing.T) { licensingtest.RunService(t, openSQLite) })
	t.Run("ServiceOnMemoryTwice", func(t *testing.T) { licensingtest.RunService(t, onMemoryTwice) })
	t.Run("ServiceOnSQLiteTwice", func(t *testing.T) { licensingtest.RunService(t, onSQLiteTwice) })
}

func openSQLite(t *testing.T) store.Store {
	is := is.New(t)
	st, err := sqlite.Open(filepath.Join(t.TempDir(), "licenses.db"))
	is.NoErr(err)
	t.Cleanup(func() { is.NoErr(st.Close()) })
	return st
}
