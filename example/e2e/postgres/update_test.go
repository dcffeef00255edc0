package postgres_test

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/store"
)

// createLicense makes the writes of creating a license.
func createLicense(t testing.TB, st store.Store, id string) error {
	ctx, now := t.Context(), time.Now()
	return st.Update(ctx, func(tx store.Tx) error {
		l := store.License{ID: id, Key: "key of " + id, State: store.StateActive, ExpiresAt: now}
		if err := tx.CreateLicenses(ctx, l); err != nil {
			return err
		}
		return tx.AppendEvents(ctx, store.Event{ID: "evt_" + id, Subject: id, Time: now})
	})
}

func TestRoundTripsOfACreate(t *testing.T) {
	for _, test := range []struct {
		name, driver, setting string
		trips                 int
	}{
		{"pgx", "pgx", "", 1},
		{"lib-pq", "postgres", "", 2}, // it prepares each statement again
		{"lib-pq with binary_parameters", "postgres", " binary_parameters=yes", 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			is := is.New(t)
			db, r := record(t, test.driver, sharedDSN(t)+test.setting)
			st := newStore(t, db, newSchema(t, db))
			is.NoErr(createLicense(t, st, "lic_1")) // prepares
			r.take()
			is.NoErr(createLicense(t, st, "lic_2"))
			statements, trips := r.take()
			is.Equal(len(statements), 1)
			require.AtMost(t, trips, test.trips)
		})
	}
}

// Concurrent Updates share calls, and do not affect each other.
func TestUpdatesOfABatchAreApart(t *testing.T) {
	for name, driver := range drivers {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			ctx := t.Context()
			db, r := record(t, driver, sharedDSN(t))
			st := newStore(t, db, newSchema(t, db))
			r.take()
			failed, panicked := errors.New("failed"), errors.New("panicked")

			const each = 30
			var start, wg sync.WaitGroup
			start.Add(1)
			run := func(kind string, want error, end func() error) {
				for i := range each {
					wg.Go(func() {
						start.Wait()
						id := fmt.Sprintf("lic_%s_%02d", kind, i)
						err := func() (err error) {
							defer func() {
								if p := recover(); p != nil {
									err = p.(error)
								}
							}()
							return st.Update(ctx, func(tx store.Tx) error {
								if err := raise(ctx, tx, "kind", kind); err != nil {
									return err
								}
								if err := tx.CreateLicenses(ctx, store.License{ID: id, Key: id}); err != nil {
									return err
								}
								if err := tx.CreateLicenses(ctx, store.License{ID: "lic_" + id, Key: id}); !errors.Is(err, store.ErrExists) {
									return fmt.Errorf("a second license with the key: %w", err)
								}
								return end()
							})
						}()
						if err != want {
							t.Errorf("%s: got %v, want %v", id, err, want)
						}
					})
				}
			}
			run("done", nil, func() error { return nil })
			run("failed", failed, func() error { return failed })
			run("panicked", panicked, func() error { panic(panicked) })
			for range each {
				wg.Go(func() {
					start.Wait()
					st.Update(ctx, func(tx store.Tx) error {
						tx.CreateLicenses(ctx, store.License{ID: "gone", Key: "gone"})
						runtime.Goexit()
						return nil
					})
				})
				wg.Go(func() {
					start.Wait()
					err := st.Update(ctx, func(tx store.Tx) error {
						_, err := tx.License(ctx, "gone")
						return err
					})
					if !errors.Is(err, store.ErrNotFound) {
						t.Errorf("what was undone: %v", err)
					}
				})
			}
			start.Done()
			wg.Wait()

			found, err := st.Licenses(ctx, store.LicenseQuery{})
			is.NoErr(err)
			is.Equal(len(found), each)
			counts, err := st.Entries(ctx, store.EntryQuery{Kind: "kind"})
			is.NoErr(err)
			is.Equal(len(counts), 1)
			is.Equal(counts[0].Key+" "+string(counts[0].Data), fmt.Sprint("done ", each))

			statements, _ := r.take()
			require.Less(t, count(statements, "SAVEPOINT")+count(statements, "ROLLBACK"), 1)
		})
	}
}

// TestUpdatesWaitForARow holds the row that orders Updates, by nothing but standard
// SQL.
func TestUpdatesWaitForARow(t *testing.T) {
	is := is.New(t)
	db := open(t, "pgx", sharedDSN(t))
	schema := newSchema(t, db)
	st := newStore(t, db, schema)
	held, err := db.Begin()
	is.NoErr(err)
	defer held.Rollback()
	_, err = held.Exec(`SELECT version FROM ` + quote(schema) + `.licensing_schema FOR UPDATE`)
	is.NoErr(err)
	done := make(chan error, 1)
	go func() { done <- createLicense(t, st, "lic_1") }()
	select {
	case err := <-done:
		t.Fatalf("an Update did not wait: %v", err)
	case <-time.After(300 * time.Millisecond):
	}
	_, err = st.License(t.Context(), "lic_1") // does not wait
	require.ErrorIs(t, err, store.ErrNotFound)
	is.NoErr(held.Rollback())
	is.NoErr(<-done)
}
