package postgres_test

import (
	"testing"

	"github.com/seed-d8a106b4/licensekit/licensing/licensingtest"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/storetest"
)

// pair returns a store over two stores on one schema, as two processes have.
func pair(t *testing.T) store.Store {
	one, other := open(t, "pgx", sharedDSN(t)), open(t, "postgres", sharedDSN(t))
	schema := newSchema(t, one)
	return storetest.Handles(newStore(t, one, schema), newStore(t, other, schema))
}

// TestAPI uses one store on one driver, and TestService two on both: stores and drivers
// differ below the contract of the store, which other tests check with each of them.
func TestAPI(t *testing.T) {
	db := open(t, drivers["pgx"], sharedDSN(t))
	licensingtest.RunAPI(t, func(t *testing.T) store.Store { return newStore(t, db, newSchema(t, db)) })
}

func TestService(t *testing.T) {
	t.Setenv("LICENSING_TEST_ACTIVATIONS", "100000")
	licensingtest.RunService(t, pair)
}
