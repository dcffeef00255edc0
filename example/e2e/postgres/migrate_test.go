package postgres_test

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/require"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/postgres"
)

// create adds one license with its event.
func create(t testing.TB, st store.Store, id string) error {
	ctx := t.Context()
	return st.Update(ctx, func(tx store.Tx) error {
		if err := tx.CreateLicenses(ctx, store.License{ID: id, Key: "key of " + id}); err != nil {
			return err
		}
		_, err := tx.AppendEvents(ctx, store.Event{ID: "evt_" + id, Type: "license.created", Subject: id})
		return err
	})
}

// Processes that start concurrently have a pool each, and none waits for another
// before it begins.
func TestManyProcessesStartConcurrently(t *testing.T) {
	is := is.New(t)
	admin := open(t, "pgx", sharedDSN(t))
	schema := newSchema(t, admin)
	errs := make([]error, 12)
	var wg sync.WaitGroup
	for i := range errs {
		db := open(t, []string{"pgx", "postgres"}[i%2], sharedDSN(t))
		wg.Go(func() {
			st, err := postgres.New(t.Context(), db, postgres.Options{Schema: schema})
			if err == nil {
				err = create(t, st, fmt.Sprintf("lic_%02d", i))
			}
			errs[i] = err
		})
	}
	wg.Wait()
	is.NoErr(errors.Join(errs...))

	var versions int
	is.NoErr(admin.QueryRow(`SELECT count(*) FROM ` + quote(schema) + `.licensing_schema`).Scan(&versions))
	is.Equal(versions, 4) // each migration ran once
	found, err := newStore(t, admin, schema).Licenses(t.Context(), store.LicenseQuery{})
	is.NoErr(err)
	is.Equal(len(found), len(errs))
}

// firstTables makes the tables of the first release in a new schema, with two
// licenses and an activation.
func firstTables(t *testing.T, db *sql.DB) (schema string) {
	t.Helper()
	is := is.New(t)
	schema = newSchema(t, db)
	text, err := os.ReadFile("../../../store/postgres/migrations/0001_initial.sql")
	is.NoErr(err)
	tx, err := db.Begin()
	is.NoErr(err)
	defer tx.Rollback()
	for _, text := range []string{
		`CREATE SCHEMA ` + quote(schema) + `; SET LOCAL search_path = ` + quote(schema), string(text),
		`INSERT INTO licensing_schema (version) VALUES (1)`,
		`INSERT INTO licensing_license VALUES
			('a', U&'\00DCn\00EFcode "\\' || chr(9) || chr(1) || chr(39) || chr(8232) || '</', 'p', 'c', 'k', 'revoked', 'why', 0, 1, -1, 7, 0, -1, '{"a": 1.0}', '{}', '["word"]', 9, -1, 3),
			('b', '', 'p', 'c', 'k2', 'active', '', NULL, NULL, NULL, 0, -1, -1, '', '', '[]', 0, NULL, NULL)`,
		`INSERT INTO licensing_license_term VALUES ('word', 'a')`,
		`INSERT INTO licensing_activation VALUES ('a', 'x', 'f', 'n', 2000, NULL, 'r', 1, 2, '{}')`,
	} {
		_, err := tx.Exec(text)
		is.NoErr(err)
	}
	is.NoErr(tx.Commit())
	return schema
}

// TestFirstTablesGetDocuments compares the documents of licenses and activations
// with their columns in the first release, and counts the active activations.
func TestFirstTablesGetDocuments(t *testing.T) {
	is := is.New(t)
	ctx := t.Context()
	db := open(t, "pgx", sharedDSN(t))
	schema := firstTables(t, db)
	st := newStore(t, db, schema)
	rows, err := st.Licenses(ctx, store.LicenseQuery{})
	is.NoErr(err)
	is.Equal(rows, []store.License{{
		ID: "a", Key: "k", CustomerID: "c", ProductID: "p", State: "revoked",
		StartsAt: time.UnixMilli(1).UTC(), ExpiresAt: time.UnixMilli(-1).UTC(),
		Document: []byte(`{"name":"Ünïcode \"\\\t\u0001'` + "\u2028" + `</","reason":"why","since":0,"grace":7,"seats":0,` +
			`"entitlements":{"a": 1.0},"metadata":{},"revision":9,"created":-1,"updated":3}`),
	}, {
		ID: "b", Key: "k2", CustomerID: "c", ProductID: "p", State: "active", Document: []byte("{}"),
	}})
	seats, err := st.Activations(ctx, store.ActivationQuery{LicenseID: "a"})
	is.NoErr(err)
	is.Equal(seats, []store.Activation{{
		LicenseID: "a", ID: "x", Fingerprint: "f", LeaseEndsAt: time.UnixMilli(2000).UTC(),
		Document: []byte(`{"name":"n","reason":"r","metadata":{},"created":1,"seen":2}`),
	}})
	count, err := st.Entry(ctx, "seats", "a")
	is.NoErr(err)
	is.Equal(string(count.Data), "1")
	is.Equal(count.Move, store.Derived)
}

// TestInterruptedMigrationStartsAgain ends the connection of a migration that has
// converted the licenses and waits for the table of activations. Everything is as
// before, and the next migration converts all of it.
func TestInterruptedMigrationStartsAgain(t *testing.T) {
	is := is.New(t)
	ctx := t.Context()
	db := open(t, "pgx", sharedDSN(t))
	opts := postgres.Options{Schema: firstTables(t, db)}
	in := func(stmt string) string { return strings.ReplaceAll(stmt, "S.", quote(opts.Schema)+".") }
	held, err := db.Begin()
	is.NoErr(err)
	defer held.Rollback()
	_, err = held.Exec(in(`LOCK TABLE S.licensing_activation IN ROW SHARE MODE`)) // as a SELECT FOR UPDATE has
	is.NoErr(err)

	ended := make(chan error, 1)
	go func() { ended <- postgres.Migrate(ctx, db, opts) }()
	for stopped := false; !stopped; time.Sleep(time.Millisecond) {
		is.Equal(len(ended), 0)
		err := db.QueryRow(`SELECT coalesce(bool_or(pg_terminate_backend(pid)), false) FROM pg_locks
			WHERE NOT granted AND relation = $1::regclass`, in("S.licensing_activation")).Scan(&stopped)
		is.NoErr(err)
	}
	is.True(<-ended != nil)
	var version, licenses, words int
	var name string
	is.NoErr(db.QueryRow(in(`SELECT (SELECT max(version) FROM S.licensing_schema), (SELECT count(*) FROM S.licensing_license),
		(SELECT count(*) FROM S.licensing_license_term), name FROM S.licensing_activation`)).Scan(&version, &licenses, &words, &name))
	is.Equal(version, 1)
	is.Equal(licenses, 2)
	is.Equal(words, 1)
	is.Equal(name, "n")

	is.NoErr(held.Rollback())
	found, err := newStore(t, db, opts.Schema).Licenses(ctx, store.LicenseQuery{})
	is.NoErr(err)
	is.Equal(len(found), 2)
}

// TestNumbersContinueAfterTheSequence: until version 3, events got their numbers from
// a sequence, and the newest ones may have been removed.
//
// Fault: a number is given twice, and readers of the feed miss the event.
func TestNumbersContinueAfterTheSequence(t *testing.T) {
	is := is.New(t)
	ctx := t.Context()
	db := open(t, "pgx", sharedDSN(t))
	schema := newSchema(t, db)
	names, err := filepath.Glob("../../../store/postgres/migrations/000[123]_*.sql")
	is.NoErr(err)
	tx, err := db.Begin()
	is.NoErr(err)
	defer tx.Rollback()
	_, err = tx.Exec(`CREATE SCHEMA ` + quote(schema) + `; SET LOCAL search_path = ` + quote(schema))
	is.NoErr(err)
	for i, name := range names {
		text, err := os.ReadFile(name)
		is.NoErr(err)
		_, err = tx.Exec(fmt.Sprintf("%s; INSERT INTO licensing_schema (version) VALUES (%d)", text, i+1))
		is.NoErr(err)
	}
	const added = `INSERT INTO licensing_feed (id, type, time, actor, request_id, subject, product_id, customer_id, data)
		SELECT n, '', 0, '', '', '', '', '', '' FROM generate_series(1, 42) AS n`
	_, err = tx.Exec(added + `; DELETE FROM licensing_feed WHERE seq > 40`)
	is.NoErr(err)
	is.NoErr(tx.Commit())

	st := newStore(t, db, schema)
	is.NoErr(create(t, st, "lic_1"))
	events, err := st.Events(ctx, store.EventQuery{Subject: "lic_1"})
	is.NoErr(err)
	is.Equal(len(events), 1)
	is.Equal(events[0].Seq, int64(43))
	_, err = db.Exec(strings.Replace(added, "licensing_feed", quote(schema)+".licensing_feed", 1))
	is.True(err != nil) // by a process of version 3 that still runs
}

func TestNewerSchemaIsRefusedAndLeftAlone(t *testing.T) {
	is := is.New(t)
	ctx := t.Context()
	db := open(t, "pgx", sharedDSN(t))
	opts := postgres.Options{Schema: newSchema(t, db)}
	st := newStore(t, db, opts.Schema)
	is.NoErr(create(t, st, "lic_1"))
	_, err := db.Exec(`INSERT INTO ` + quote(opts.Schema) + `.licensing_schema (version) VALUES (9000)`)
	is.NoErr(err)

	_, err = postgres.New(ctx, db, opts)
	is.True(err != nil)
	require.Contains(t, err.Error(), "version 9000") // names the version of the tables
	is.True(!errors.Is(err, store.ErrUnavailable))
	err = postgres.Migrate(ctx, db, opts)
	is.True(err != nil)
	require.Contains(t, err.Error(), "version 9000")

	_, err = st.License(ctx, "lic_1") // a running store continues
	is.NoErr(err)
}

func TestSchemaNames(t *testing.T) {
	ctx := t.Context()
	db := open(t, "pgx", sharedDSN(t))
	for _, name := range []string{
		"", "UPPER and lower", `with "quotes"`, "licensing_acme", "$1", "; DROP TABLE x; --", "größe", strings.Repeat("x", 63),
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			if name == "" {
				name = "public"
				dropAfter(t, db, name)
				_, err := db.Exec(`CREATE SCHEMA IF NOT EXISTS public`)
				is.NoErr(err)
				name = ""
			} else {
				dropAfter(t, db, name)
			}
			st, err := postgres.New(ctx, db, postgres.Options{Schema: name})
			is.NoErr(err)
			is.NoErr(create(t, st, "lic_1"))
			l, err := st.License(ctx, "lic_1")
			is.NoErr(err)
			is.NoErr(st.Update(ctx, func(tx store.Tx) error {
				if err := tx.UpdateLicense(ctx, l); err != nil {
					return err
				}
				if err := tx.PutActivations(ctx, store.Activation{LicenseID: "lic_1", ID: "act_1"}); err != nil {
					return err
				}
				return raise(ctx, tx, "kind", "name")
			}))
			found, err := st.Licenses(ctx, store.LicenseQuery{IDs: []string{"lic_1"}})
			is.NoErr(err)
			is.Equal(len(found), 1)
			schema := name
			if schema == "" {
				schema = "public"
			}
			var n int
			is.NoErr(db.QueryRow(`SELECT count(*) FROM ` + quote(schema) + `.licensing_licenses`).Scan(&n))
			is.Equal(n, 1)
		})
	}
	for _, name := range []string{"pg_licensing", strings.Repeat("x", 64), "a\x00b", "a\xffb"} {
		is := is.New(t)
		_, err := postgres.New(ctx, db, postgres.Options{Schema: name})
		is.True(err != nil)
		require.HasPrefix(t, err.Error(), "postgres: Options.Schema ")
	}
}

// The role that serves needs no privilege to create anything.
func TestMigratedByAnotherRole(t *testing.T) {
	is := is.New(t)
	ctx := t.Context()
	admin := open(t, "pgx", sharedDSN(t))
	opts := postgres.Options{Schema: newSchema(t, admin)}
	role := "serving_" + opts.Schema
	_, err := admin.Exec(`CREATE ROLE ` + role)
	is.NoErr(err)
	t.Cleanup(func() {
		admin.Exec(`DROP OWNED BY ` + role)
		admin.Exec(`DROP ROLE ` + role)
	})
	db := open(t, "pgx", sharedDSN(t)+" options='-c role="+role+"'")

	_, err = postgres.New(ctx, db, opts)
	is.True(err != nil) // it may not migrate itself
	is.NoErr(postgres.Migrate(ctx, admin, opts))
	is.NoErr(postgres.Migrate(ctx, admin, opts)) // a second call does nothing
	for _, grant := range []string{`USAGE ON SCHEMA`, `SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA`} {
		_, err = admin.Exec(`GRANT ` + grant + ` ` + quote(opts.Schema) + ` TO ` + role)
		is.NoErr(err)
	}

	st, err := postgres.New(ctx, db, opts)
	is.NoErr(err)
	is.NoErr(create(t, st, "lic_1"))
	is.NoErr(st.Update(ctx, func(tx store.Tx) error { return tx.DeleteLicense(ctx, "lic_1") }))
	events, err := st.Events(ctx, store.EventQuery{})
	is.NoErr(err)
	is.Equal(len(events), 1)
}

func TestOtherEncodingIsRefused(t *testing.T) {
	is := is.New(t)
	admin := open(t, "pgx", sharedDSN(t))
	name := newSchema(t, admin)
	_, err := admin.Exec(`CREATE DATABASE ` + quote(name) + ` ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0`)
	is.NoErr(err)
	db := open(t, "pgx", sharedDSN(t)+" dbname="+name)
	t.Cleanup(func() {
		db.Close()
		admin.Exec(`DROP DATABASE ` + quote(name))
	})
	_, err = postgres.New(t.Context(), db, postgres.Options{})
	is.True(err != nil)
	require.Contains(t, err.Error(), "LATIN1")
}

func TestNoServerIsUnavailable(t *testing.T) {
	for name, driver := range drivers {
		t.Run(name, func(t *testing.T) {
			db := open(t, driver, "host="+t.TempDir()+" user=licensing dbname=postgres sslmode=disable")
			_, err := postgres.New(t.Context(), db, postgres.Options{})
			require.ErrorIs(t, err, store.ErrUnavailable)
		})
	}
}
