package postgres_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/store"
)

// holdLock takes the row that orders Updates, and returns what releases it.
func holdLock(t *testing.T, db *sql.DB, schema string) (release func()) {
	is := is.New(t)
	held, err := db.Begin()
	is.NoErr(err)
	t.Cleanup(func() { held.Rollback() })
	_, err = held.Exec(`SELECT FROM ` + quote(schema) + `.licensing_schema FOR UPDATE`)
	is.NoErr(err)
	return func() { is.NoErr(held.Rollback()) }
}

// waiting returns when n calls wait for the lock.
func waiting(t *testing.T, db *sql.DB, schema string, n int) {
	t.Helper()
	for begun := time.Now(); time.Since(begun) < 20*time.Second; time.Sleep(2 * time.Millisecond) {
		var got int
		err := db.QueryRow(`SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND strpos(query, $1) > 0`,
			quote(schema)+".licensing_commit").Scan(&got)
		if err != nil || got == n {
			is.New(t).NoErr(err)
			return
		}
	}
	t.Fatalf("%d calls never waited", n)
}

// A half is one of two Updates, of which each writes what the other reads.
type half struct {
	sees  func(ctx context.Context, r store.Reader) (bool, error)
	write func(ctx context.Context, tx store.Tx) error
}

func there(err error) (bool, error) {
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

func halfEntry(key string) half {
	return half{
		func(ctx context.Context, r store.Reader) (bool, error) {
			_, err := r.Entry(ctx, "n", key)
			return there(err)
		},
		func(ctx context.Context, tx store.Tx) error {
			return tx.PutEntries(ctx, store.Entry{Kind: "n", Key: key})
		},
	}
}

// halves returns a half for each shape of what an Update reads.
func halves() map[string]half {
	license := store.License{ID: "lic_new", Key: "new", CustomerID: "c"}
	create := func(ctx context.Context, tx store.Tx) error { return tx.CreateLicenses(ctx, license) }
	seat := func(ctx context.Context, tx store.Tx) error {
		return tx.PutActivations(ctx, store.Activation{LicenseID: "lic_0", ID: "act_1", Fingerprint: "f"})
	}
	seats := func(q store.ActivationQuery) func(context.Context, store.Reader) (bool, error) {
		return func(ctx context.Context, r store.Reader) (bool, error) {
			all, err := r.Activations(ctx, q)
			return len(all) > 0, err
		}
	}
	return map[string]half{
		"entry": halfEntry("y"),
		"entries": {
			func(ctx context.Context, r store.Reader) (bool, error) {
				all, err := r.Entries(ctx, store.EntryQuery{Kind: "m"})
				return len(all) > 0, err
			},
			func(ctx context.Context, tx store.Tx) error {
				return tx.PutEntries(ctx, store.Entry{Kind: "m", Key: "y"})
			},
		},
		"license": {func(ctx context.Context, r store.Reader) (bool, error) {
			_, err := r.License(ctx, license.ID)
			return there(err)
		}, create},
		"key": {func(ctx context.Context, r store.Reader) (bool, error) {
			_, err := r.LicenseByKey(ctx, license.Key)
			return there(err)
		}, create},
		"licenses": {func(ctx context.Context, r store.Reader) (bool, error) {
			all, err := r.Licenses(ctx, store.LicenseQuery{CustomerID: "c"})
			return len(all) > 0, err
		}, create},
		"fingerprint": {func(ctx context.Context, r store.Reader) (bool, error) {
			_, err := r.Activation(ctx, "lic_0", "f")
			return there(err)
		}, seat},
		"seats":      {seats(store.ActivationQuery{LicenseID: "lic_0"}), seat},
		"live seats": {seats(store.ActivationQuery{LicenseID: "lic_0", LiveAt: time.Now()}), seat},
		"events": {
			func(ctx context.Context, r store.Reader) (bool, error) {
				all, err := r.Events(ctx, store.EventQuery{})
				return len(all) > 0, err
			},
			func(ctx context.Context, tx store.Tx) error { return tx.AppendEvents(ctx, store.Event{ID: "evt"}) },
		},
	}
}

// TestUpdatesOfOneBatch makes two Updates meet while a batch is open: one of them must
// see what the other has written.
func TestUpdatesOfOneBatch(t *testing.T) {
	for name, h := range halves() {
		for order, reversed := range map[string]bool{"reads first": false, "writes first": true} {
			t.Run(name+"/"+order, func(t *testing.T) {
				t.Parallel()
				is := is.New(t)
				ctx := t.Context()
				db := open(t, "pgx", sharedDSN(t))
				schema := newSchema(t, db)
				st := newStore(t, db, schema)
				is.NoErr(st.Update(ctx, func(tx store.Tx) error {
					return tx.CreateLicenses(ctx, store.License{ID: "lic_0", Key: "0", CustomerID: "z"})
				}))
				release := holdLock(t, db, schema)
				done := make(chan error, 5)
				start := func(fn func(tx store.Tx) error) {
					ran := make(chan struct{}, 20)
					go func() {
						done <- st.Update(ctx, func(tx store.Tx) error {
							defer func() { ran <- struct{}{} }()
							return fn(tx)
						})
					}()
					<-ran
					time.Sleep(5 * time.Millisecond) // until it has joined the open batch
				}
				for i, key := range []string{"1", "2", "3"} { // two are sent, and the batch of the third stays open
					start(func(tx store.Tx) error { return halfEntry(key).write(ctx, tx) })
					waiting(t, db, schema, min(i+1, 2))
				}
				var saw [2]bool
				two := [2]func(tx store.Tx) error{
					func(tx store.Tx) (err error) {
						if saw[0], err = h.sees(ctx, tx); err != nil {
							return err
						}
						return halfEntry("x").write(ctx, tx)
					},
					func(tx store.Tx) (err error) {
						if saw[1], err = halfEntry("x").sees(ctx, tx); err != nil {
							return err
						}
						return h.write(ctx, tx)
					},
				}
				if reversed {
					two[0], two[1] = two[1], two[0]
				}
				start(two[0])
				start(two[1])
				release()
				for range 5 {
					is.NoErr(<-done)
				}
				is.True(saw[0] != saw[1])
			})
		}
	}
}

// TestAMovedRowAndAListOfWhereItWas: an Update moves a row, another one moves it again,
// and a third lists where it was.
func TestAMovedRowAndAListOfWhereItWas(t *testing.T) {
	is := is.New(t)
	ctx := t.Context()
	db := open(t, "pgx", sharedDSN(t))
	schema := newSchema(t, db)
	st := newStore(t, db, schema)
	is.NoErr(st.Update(ctx, func(tx store.Tx) error {
		return tx.CreateLicenses(ctx, store.License{ID: "lic_1", Key: "1", CustomerID: "a"})
	}))
	release := holdLock(t, db, schema)
	done := make(chan error, 6)
	start := func(fn func(tx store.Tx) error) {
		ran := make(chan struct{}, 20)
		go func() {
			done <- st.Update(ctx, func(tx store.Tx) error {
				defer func() { ran <- struct{}{} }()
				return fn(tx)
			})
		}()
		<-ran
		time.Sleep(5 * time.Millisecond)
	}
	move := func(tx store.Tx, to string) error {
		l, err := tx.License(ctx, "lic_1")
		l.CustomerID = to
		return errors.Join(err, tx.UpdateLicense(ctx, l))
	}
	for i, key := range []string{"1", "2", "3"} {
		start(func(tx store.Tx) error { return halfEntry(key).write(ctx, tx) })
		waiting(t, db, schema, min(i+1, 2))
	}
	var sawEntry, sawLicense bool
	start(func(tx store.Tx) (err error) {
		if sawEntry, err = halfEntry("z").sees(ctx, tx); err != nil {
			return err
		}
		return move(tx, "b")
	})
	start(func(tx store.Tx) error { return move(tx, "c") })
	start(func(tx store.Tx) error {
		all, err := tx.Licenses(ctx, store.LicenseQuery{CustomerID: "a"})
		sawLicense = len(all) > 0
		return errors.Join(err, halfEntry("z").write(ctx, tx))
	})
	release()
	for range 6 {
		is.NoErr(<-done)
	}
	is.True(sawEntry || !sawLicense) // otherwise each was before the other
}
