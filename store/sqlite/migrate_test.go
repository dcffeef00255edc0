package sqlite

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/store"
)

// withSteps gives this program more migrations until the returned function is called,
// so the test must not be parallel.
func withSteps(t *testing.T, more ...string) (restore func()) {
	released := steps
	restore = func() { steps = released }
	t.Cleanup(restore)
	steps = append(released[:len(released):len(released)], more...)
	return restore
}

// versions returns the row of the table schema.
func versions(t *testing.T, st *Store) (version, usableFrom int64) {
	t.Helper()
	err := st.writer.conn.query(t.Context(), `SELECT version, usable_from FROM schema`, nil, func(r *row) { version, usableFrom = r.integer(), r.integer() })
	if err != nil {
		t.Fatal(err)
	}
	return version, usableFrom
}

// writeAll writes every kind of record in every way, and reads it.
func writeAll(t *testing.T, st *Store, id string) {
	t.Helper()
	is := is.New(t)
	ctx := t.Context()
	l := store.License{ID: id, Key: id, CustomerID: "c", ProductID: "p", State: "active", Text: "text"}
	is.NoErr(st.Update(ctx, func(tx store.Tx) error {
		err := tx.AppendEvents(ctx, store.Event{ID: id, Subject: id})
		events, listed := tx.Events(ctx, store.EventQuery{Subject: id})
		return errors.Join(err, listed, tx.CreateLicenses(ctx, l, store.License{ID: "gone " + id, Key: "gone " + id}),
			tx.PutActivations(ctx, store.Activation{LicenseID: id, ID: "act", Fingerprint: "f"}),
			tx.PutEntries(ctx, store.Entry{Kind: "kind", Key: id}),
			tx.ReplaceEvent(ctx, store.Event{Seq: events[0].Seq, ID: id, Subject: id, CustomerID: "c"}))
	}))
	l.State = "revoked"
	is.NoErr(st.Update(ctx, func(tx store.Tx) error {
		return errors.Join(tx.UpdateLicense(ctx, l), tx.DeleteLicense(ctx, "gone "+id))
	}))
	found, err := st.License(ctx, id)
	is.NoErr(err)
	is.Equal(found, l)
	matches, _, err := st.FindLicenses(ctx, store.LicenseQuery{Text: []string{"text"}, CustomerID: "c"})
	is.NoErr(err)
	is.Equal(matches[len(matches)-1], l)
	_, err = st.Activation(ctx, id, "f")
	is.NoErr(err)
	_, err = st.Entry(ctx, "kind", id)
	is.NoErr(err)
	events, err := st.Events(ctx, store.EventQuery{Subject: id})
	is.NoErr(err)
	is.Equal(len(events), 1)
	is.NoErr(st.Check(ctx))
}

// TestNextMigration: a step that fails changes nothing, and the step that comes next
// is made once, whichever process opens the file first.
func TestNextMigration(t *testing.T) {
	is := is.New(t)
	path := filepath.Join(t.TempDir(), "licenses.db")
	st := openAt(t, path)
	writeAll(t, st, "a")
	version, usableFrom := versions(t, st)
	is.Equal(version, int64(len(steps)))
	is.Equal(usableFrom, int64(1))

	const column = `ALTER TABLE licenses ADD COLUMN note TEXT`
	restore := withSteps(t, column+`; INSERT INTO missing VALUES (1)`)
	_, err := Open(path)
	require.Contains(t, err.Error(), "no such table: missing")
	restore()
	writeAll(t, openAt(t, path), "b")

	withSteps(t, column)
	for _, id := range []string{"c", "d"} {
		st := openAt(t, path)
		version, _ = versions(t, st)
		is.Equal(version, int64(len(steps)))
		writeAll(t, st, id)
	}
	is.Equal(ids(t, st), "a b c d")
}

// TestNewerSchema: a program uses a newer schema that is usable from its version on,
// and refuses any other without changing the file.
//
// Fault: a rolling deployment stops at the first process that restarts with the
// earlier version, or an earlier version writes what a later one cannot read.
func TestNewerSchema(t *testing.T) {
	is := is.New(t)
	folder := t.TempDir()
	path := filepath.Join(folder, "licenses.db")
	running := openAt(t, path) // during the migrations
	released := int64(len(steps))

	restore := withSteps(t, `ALTER TABLE licenses ADD COLUMN note TEXT; ALTER TABLE entries ADD COLUMN note TEXT NOT NULL DEFAULT 'none';
		CREATE TABLE notes (id TEXT)`)
	newer := openAt(t, path)
	writeAll(t, newer, "a")
	restore()
	writeAll(t, running, "b")
	started := openAt(t, path) // after the migration
	writeAll(t, started, "c")
	version, usableFrom := versions(t, started)
	is.Equal(version, released+1)
	is.Equal(usableFrom, int64(1))
	is.Equal(ids(t, newer), "a b c")
	backup := filepath.Join(folder, "backup.db")
	is.NoErr(newer.Backup(t.Context(), backup))
	is.NoErr(Restore(t.Context(), backup, filepath.Join(folder, "restored.db")))

	restore = withSteps(t, `SELECT 1`, `UPDATE schema SET usable_from = 3`) // the second and the third
	is.NoErr(openAt(t, path).Close())
	restore()
	for _, st := range []*Store{running, newer, started} {
		is.NoErr(st.Close())
	}
	before := files(t, folder)
	_, err := Open(path)
	require.Contains(t, err.Error(), "schema 3, usable from 3 on; this version has 1")
	is.Equal(files(t, folder), before)
}
