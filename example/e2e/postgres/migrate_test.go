package postgres_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
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
		return tx.AppendEvents(ctx, store.Event{ID: "evt_" + id, Type: "license.created", Subject: id})
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

	var rows, version int
	is.NoErr(admin.QueryRow(`SELECT count(*), max(version) FROM `+quote(schema)+`.licensing_schema`).Scan(&rows, &version))
	is.Equal(rows, 1)
	is.Equal(version, 1)
	found, err := newStore(t, admin, schema).Licenses(t.Context(), store.LicenseQuery{})
	is.NoErr(err)
	is.Equal(len(found), len(errs))
}

// TestNewerSchema: a program uses newer tables that are usable from its version on,
// and refuses any others without changing them.
//
// Fault: a rolling deployment stops at the first process that restarts with the
// earlier version, or an earlier version writes what a later one cannot read.
func TestNewerSchema(t *testing.T) {
	is := is.New(t)
	ctx := t.Context()
	db := open(t, "pgx", sharedDSN(t))
	opts := postgres.Options{Schema: newSchema(t, db)}
	in := func(stmt string) string { return strings.ReplaceAll(stmt, "S.", quote(opts.Schema)+".") }
	running := newStore(t, db, opts.Schema) // during the migrations
	is.NoErr(create(t, running, "lic_1"))

	_, err := db.Exec(in(`ALTER TABLE S.licensing_licenses ADD COLUMN note text;
		ALTER TABLE S.licensing_entries ADD COLUMN note text NOT NULL DEFAULT 'none';
		UPDATE S.licensing_schema SET version = 9000`))
	is.NoErr(err)
	is.NoErr(postgres.Migrate(ctx, db, opts)) // changes nothing
	started, err := postgres.New(ctx, db, opts)
	is.NoErr(err)
	for i, st := range []store.Store{running, started} {
		id := fmt.Sprint("lic_new_", i)
		is.NoErr(create(t, st, id))
		is.NoErr(st.Update(ctx, func(tx store.Tx) error {
			return errors.Join(tx.UpdateLicense(ctx, store.License{ID: id, Key: id, State: store.StateRevoked}),
				tx.PutActivations(ctx, store.Activation{LicenseID: id, ID: "act", Fingerprint: "f"}),
				tx.PutEntries(ctx, store.Entry{Kind: "kind", Key: id}))
		}))
		l, err := st.License(ctx, id)
		is.NoErr(err)
		is.Equal(l.State, store.StateRevoked)
		_, err = st.Activation(ctx, id, "f")
		is.NoErr(err)
		_, err = st.Entry(ctx, "kind", id)
		is.NoErr(err)
	}
	events, err := started.Events(ctx, store.EventQuery{})
	is.NoErr(err)
	is.Equal(len(events), 3)

	_, err = db.Exec(in(`UPDATE S.licensing_licenses SET note = id`))
	is.NoErr(err)
	is.NoErr(running.Update(ctx, func(tx store.Tx) error { // a key changes hands
		return errors.Join(tx.UpdateLicense(ctx, store.License{ID: "lic_new_0", Key: "other"}),
			tx.UpdateLicense(ctx, store.License{ID: "lic_new_1", Key: "lic_new_0"}),
			tx.UpdateLicense(ctx, store.License{ID: "lic_new_0", Key: "lic_new_1"}))
	}))
	l, err := started.LicenseByKey(ctx, "lic_new_0")
	is.NoErr(err)
	is.Equal(l.ID, "lic_new_1")
	var kept int
	is.NoErr(db.QueryRow(in(`SELECT count(*) FROM S.licensing_licenses WHERE note = id`)).Scan(&kept))
	is.Equal(kept, 3) // what a newer version has written

	_, err = db.Exec(in(`UPDATE S.licensing_schema SET usable_from = 2`))
	is.NoErr(err)
	_, err = postgres.New(ctx, db, opts)
	for _, err := range []error{err, postgres.Migrate(ctx, db, opts)} {
		is.True(err != nil)
		require.Contains(t, err.Error(), "version 9000, which programs can use from version 2 on; this program has version 1")
		is.True(!errors.Is(err, store.ErrUnavailable))
	}
	var version, usableFrom int
	is.NoErr(db.QueryRow(in(`SELECT version, usable_from FROM S.licensing_schema`)).Scan(&version, &usableFrom))
	is.Equal([]int{version, usableFrom}, []int{9000, 2})
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
