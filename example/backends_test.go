package main

import (
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
	licensingtest.RunAPI(t, openSQLite)
}

func TestAPIOnMemoryTwice(t *testing.T) {
	licensingtest.RunAPI(t, func(*testing.T) store.Store { return storetest.Twice(memory.New()) })
}

func TestAPIOnSQLiteTwice(t *testing.T) {
	licensingtest.RunAPI(t, func(t *testing.T) store.Store { return storetest.Twice(openSQLite(t)) })
}

func TestServiceOnSQLite(t *testing.T) {
	licensingtest.RunService(t, openSQLite)
}

func TestServiceOnMemoryTwice(t *testing.T) {
	licensingtest.RunService(t, func(*testing.T) store.Store { return storetest.Twice(memory.New()) })
}

func TestServiceOnSQLiteTwice(t *testing.T) {
	licensingtest.RunService(t, func(t *testing.T) store.Store { return storetest.Twice(openSQLite(t)) })
}

func openSQLite(t *testing.T) store.Store {
	is := is.New(t)
	st, err := sqlite.Open(filepath.Join(t.TempDir(), "licenses.db"))
	is.NoErr(err)
	t.Cleanup(func() { is.NoErr(st.Close()) })
	return st
}
