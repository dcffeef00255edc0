package postgres_test

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/oracle"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/postgres"
	"github.com/seed-d8a106b4/licensekit/storetest"
)

// newStore returns a store in a schema of the database.
func newStore(t testing.TB, db *sql.DB, schema string) *postgres.Store {
	t.Helper()
	st, err := postgres.New(t.Context(), db, postgres.Options{Schema: schema})
	if err != nil {
		t.Fatal(err)
	}
	return st
}

// BenchmarkStore measures a store on a server of its own, which syncs to disk.
func BenchmarkStore(b *testing.B) {
	storetest.Benchmark(b, func(b *testing.B) store.Store {
		db := open(b, "pgx", newServer(b).dsn())
		db.SetMaxOpenConns(20)
		return newStore(b, db, "")
	})
}

// TestStoreKeepsTheContract is for two stores, each with one of the drivers.
func TestStoreKeepsTheContract(t *testing.T) {
	keepTheContract(t, open(t, drivers["pgx"], sharedDSN(t)), open(t, drivers["lib-pq"], sharedDSN(t)))
}

// keepTheContract tests two stores on one schema, which are what two processes have.
func keepTheContract(t *testing.T, one, other *sql.DB) {
	storetest.Run(t, func(t *testing.T) store.Store {
		schema := newSchema(t, one)
		return storetest.Handles(newStore(t, one, schema), newStore(t, other, schema))
	})
}

// TestAnswersAreThoseOfTheReference makes random changes to this store and to
// the reference backend, and asks both the same random questions.
func TestAnswersAreThoseOfTheReference(t *testing.T) {
	db := open(t, "pgx", sharedDSN(t))
	oracle.Compare(t, newStore(t, db, newSchema(t, db)), 400, 8*time.Second, false)
}

func TestStoreIsDurable(t *testing.T) {
	for name, driver := range drivers {
		t.Run(name, func(t *testing.T) {
			storetest.RunDurable(t, func(t *testing.T, dir string) store.Store {
				db := open(t, driver, sharedDSN(t))
				sum := sha256.Sum256([]byte(dir))
				schema := "durable_" + hex.EncodeToString(sum[:8])
				dropAfter(t, db, schema)
				return newStore(t, db, schema)
			})
		})
	}
}

func TestSchemasAreApart(t *testing.T) {
	is := is.New(t)
	ctx := t.Context()
	db := open(t, "pgx", sharedDSN(t))
	one, other := newStore(t, db, newSchema(t, db)), newStore(t, db, newSchema(t, db))

	is.NoErr(one.Update(ctx, func(tx store.Tx) error {
		if err := tx.AppendEvents(ctx, store.Event{ID: "evt_1"}); err != nil {
			return err
		}
		return tx.CreateLicenses(ctx, store.License{ID: "lic_1", Key: "K"})
	}))
	_, err := other.License(ctx, "lic_1")
	require.ErrorIs(t, err, store.ErrNotFound)
	events, err := other.Events(ctx, store.EventQuery{})
	is.NoErr(err)
	is.Equal(len(events), 0)

	// Neither waits for the other: an Update of one may pause while the
	// other's commits.
	is.NoErr(one.Update(ctx, func(tx store.Tx) error {
		return other.Update(ctx, func(tx store.Tx) error {
			return tx.CreateLicenses(ctx, store.License{ID: "lic_1", Key: "K"})
		})
	}))
}

func TestClosedStoreIsUnavailable(t *testing.T) {
	is := is.New(t)
	ctx := t.Context()
	db := open(t, "pgx", sharedDSN(t))
	st := newStore(t, db, newSchema(t, db))
	is.NoErr(st.Close())

	_, err := st.License(ctx, "lic_1")
	require.ErrorIs(t, err, store.ErrUnavailable)
	err = st.View(ctx, func(store.Reader) error { return nil })
	require.ErrorIs(t, err, store.ErrUnavailable)
	err = st.Update(ctx, func(store.Tx) error { return nil })
	require.ErrorIs(t, err, store.ErrUnavailable)

	is.NoErr(db.PingContext(ctx)) // the host's database stays open
	is.NoErr(st.Close())          // a second call does nothing
}

// A string that PostgreSQL cannot store is never found and cannot be written, and
// an Update that tries can continue.
func TestTextThatNoDatabaseHolds(t *testing.T) {
	is := is.New(t)
	ctx := t.Context()
	db := open(t, "pgx", sharedDSN(t))
	st := newStore(t, db, newSchema(t, db))
	for _, text := range []string{"a\x00b", "a\xffb"} {
		_, err := st.License(ctx, text)
		require.ErrorIs(t, err, store.ErrNotFound)
		is.NoErr(st.Update(ctx, func(tx store.Tx) error {
			is.True(tx.CreateLicenses(ctx, store.License{ID: "lic_1", Key: text}) != nil)
			is.True(tx.PutEntries(ctx, store.Entry{Kind: "kind", Key: text}) != nil)
			err := tx.AppendEvents(ctx, store.Event{Actor: text})
			is.True(err != nil)
			_, err = tx.License(ctx, text)
			require.ErrorIs(t, err, store.ErrNotFound)
			return tx.PutEntries(ctx, store.Entry{Kind: "kind", Key: "key"})
		}))
		_, err = st.Entry(ctx, "kind", "key")
		is.NoErr(err)
		_, err = st.License(ctx, "lic_1")
		require.ErrorIs(t, err, store.ErrNotFound)
	}
}

// raise increases the count in an entry.
func raise(ctx context.Context, tx store.Tx, kind, key string) error {
	e, err := tx.Entry(ctx, kind, key)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	n, _ := strconv.Atoi(string(e.Data)) // zero if there is none
	return tx.PutEntries(ctx, store.Entry{Kind: kind, Key: key, Data: strconv.AppendInt(nil, int64(n+1), 10)})
}
