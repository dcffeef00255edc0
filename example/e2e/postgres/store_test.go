package postgres_test

import (
	"testing"

	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/postgres"
	"github.com/seed-d8a106b4/licensekit/storetest"
)

// newStore returns a store in a new schema.
func newStore(t *testing.T, driver string) *postgres.Store {
	t.Helper()
	db := open(t, driver, sharedDSN(t))
	st, err := postgres.New(t.Context(), db, postgres.Options{Schema: newSchema(t, db)})
	if err != nil {
		t.Fatal(err)
	}
	return st
}

func TestStoreKeepsTheContract(t *testing.T) {
	for name, driver := range drivers {
		t.Run(name, func(t *testing.T) {
			storetest.Run(t, func(t *testing.T) store.Store { return newStore(t, driver) })
		})
	}
}
