package sqlite

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/matryer/is"
	lib "modernc.org/sqlite/lib"

	"github.com/seed-d8a106b4/licensekit/internal/require"
	"github.com/seed-d8a106b4/licensekit/store"
)

// firstFile makes a file of the first release at a new path, and returns the path
// and the connection of a process of that release, with the schema of that release.
func firstFile(t *testing.T) (path string, old *conn) {
	t.Helper()
	is := is.New(t)
	path = filepath.Join(t.TempDir(), "licenses.db")
	_, err := makeFile(path)
	is.NoErr(err)
	old, err = connect(writerDSN(path, Options{BusyTimeout: time.Second}))
	is.NoErr(err)
	t.Cleanup(func() { old.close() })
	is.NoErr(old.script(fmt.Sprintf("BEGIN; %s; PRAGMA application_id = %d; PRAGMA user_version = 1; COMMIT", steps()[0], applicationID)))
	return path, old
}

// secondFile is firstFile with the schema before licenses had a text: n licenses with
// their activations, and entries, most of which are of the search index.
func secondFile(t *testing.T, n int) (path string, old *conn) {
	t.Helper()
	is := is.New(t)
	path, old = firstFile(t)
	is.NoErr(old.script(fmt.Sprintf(`
		BEGIN; %s; PRAGMA user_version = 2;
		WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)
		INSERT INTO license SELECT printf('l%%06d', i), 'key ' || i, 'c' || (i %% 9), 'p', 'active', NULL, i, CAST(printf('{"name":"%%0900d"}', i) AS BLOB) FROM n;
		INSERT INTO activation SELECT id, 'a', 'f' || id, NULL, NULL, NULL FROM license;
		INSERT INTO entries SELECT 'index.1.text', id, '', x'00', -62135596800000, NULL, 2 FROM license;
		INSERT INTO entries SELECT value, 'k', '', x'00', -62135596800000, NULL, 0 FROM json_each('["catalog", "count", "word", "index", "index/", "indexed", "cursor", "counts", "wordy"]');
		COMMIT`, steps()[1], n)))
	return path, old
}

// TestLicensesGetTexts migrates the second schema: all licenses are there, the
// searches of all kinds find them, and of the entries only the search index is gone.
func TestLicensesGetTexts(t *testing.T) {
	is := is.New(t)
	path, _ := secondFile(t, 100)
	st, ctx := openAt(t, path), t.Context()
	l, err := st.LicenseByKey(ctx, "key 7")
	is.NoErr(err)
	is.Equal(l, store.License{
		ID: "l000007", Key: "key 7", CustomerID: "c7", ProductID: "p", State: "active", ExpiresAt: time.UnixMilli(7).UTC(),
		Document: fmt.Appendf(nil, `{"name":"%0900d"}`, 7),
	})
	l.Text = "seven"
	is.NoErr(st.Update(ctx, func(tx store.Tx) error { return tx.UpdateLicense(ctx, l) }))
	found, next, err := st.FindLicenses(ctx, store.LicenseQuery{Text: []string{"seven"}})
	is.NoErr(err)
	is.Equal(next, "")
	is.Equal(found, []store.License{l})
	seats, err := st.Activations(ctx, store.ActivationQuery{FingerprintPrefix: "fl00001"})
	is.NoErr(err)
	is.Equal(len(seats), 10)
	names, err := st.LicenseNames(ctx, store.NamesQuery{Limit: 1})
	is.NoErr(err)
	is.Equal(names, []store.NameCount{{Name: "c0", Count: 11}})
	entries, err := st.Entries(ctx, store.EntryQuery{})
	is.NoErr(err)
	kinds := ""
	for _, e := range entries {
		kinds += e.Kind + " "
	}
	is.Equal(kinds, "counts cursor index index/ indexed wordy ")
	is.NoErr(st.Check(ctx))
}

// TestProcessesWithoutTextsAreLockedOut has a file open as a process that writes no
// texts has it, while this version migrates it.
func TestProcessesWithoutTextsAreLockedOut(t *testing.T) {
	is := is.New(t)
	path, old := secondFile(t, 1)
	statements := []string{
		`UPDATE license SET document = x'' WHERE id = 'l000001'`,
		`INSERT OR FAIL INTO license (id, key, customer_id, product_id, state, starts_at, expires_at, document) VALUES ('m', 'm', '', '', '', NULL, NULL, NULL)`,
		`DELETE FROM license WHERE id = 'm'`,
	}
	for _, text := range statements {
		_, err := old.exec(text)
		is.NoErr(err)
	}
	openAt(t, path)
	for _, text := range statements {
		if _, err := old.exec(text); err == nil {
			t.Errorf("runs: %s", text)
		}
	}
}

// TestKilledMigrationToTexts kills a process immediately before it commits the step
// that gives licenses a text.
func TestKilledMigrationToTexts(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	const n = 3000
	path, old := secondFile(t, n)
	digest := func() (text string) {
		t.Helper()
		is.NoErr(old.query(t.Context(), `SELECT count(*) || ' ' || sum(length(document)) || ' ' || (SELECT count(*) FROM activation) || ' ' ||
			(SELECT count(*) FROM entries) FROM license`, nil, func(r *row) { text = r.text() }))
		return text
	}
	before := digest()
	cmd, out := child(t, "migrate", path, "")
	lines := bufio.NewScanner(out)
	is.True(lines.Scan())
	is.Equal(lines.Text(), "migrated")
	log, err := os.Stat(path + "-wal")
	is.NoErr(err)
	require.Greater(t, log.Size(), 1<<20) // pages that are not committed
	is.Equal(digest(), before)
	is.NoErr(cmd.Process.Kill())
	cmd.Wait()

	v, err := version(old)
	is.NoErr(err)
	is.Equal(v, 2)
	is.Equal(digest(), before)
	is.NoErr(old.close())

	st, ctx := openAt(t, path), t.Context()
	counts, err := st.CountLicenses(ctx, store.LicenseQuery{})
	is.NoErr(err)
	is.Equal(counts, []int64{n})
	last, err := st.License(ctx, fmt.Sprintf("l%06d", n))
	is.NoErr(err)
	is.Equal(string(last.Document), fmt.Sprintf(`{"name":"%0900d"}`, n))
	is.NoErr(st.Check(ctx))
}

// TestFirstSchemaMovesForward opens a file of the first schema: its records are
// there, and the new indexes find them.
func TestFirstSchemaMovesForward(t *testing.T) {
	is := is.New(t)
	path, c := firstFile(t)
	is.NoErr(c.script(`
		INSERT INTO license (id, name, product_id, customer_id, key, state, state_reason, grace_seconds, max_activations, lease_seconds, revision)
		VALUES ('l', 'n', 'p', 'c', 'k', 'active', '', 0, 3, 60, 1);
		INSERT INTO activation (license_id, id, fingerprint, name, lease_ends_at, ended_at, end_reason)
		VALUES ('l', 'a', 'fa', '', NULL, NULL, ''), ('l', 'b', 'fb', '', 2000, NULL, ''), ('l', 'c', 'fc', '', 1000, NULL, ''), ('l', 'd', 'fd', '', 1000, 500, 'released')`))

	st := openAt(t, path)
	ids := func(q store.ActivationQuery) (ids string) {
		q.LicenseID = "l"
		rows, err := st.Activations(context.Background(), q)
		is.NoErr(err)
		for _, a := range rows {
			ids += a.ID
		}
		return ids
	}
	is.Equal(ids(store.ActivationQuery{}), "abcd")
	is.Equal(ids(store.ActivationQuery{LiveAt: time.UnixMilli(1500)}), "ab")
	is.Equal(ids(store.ActivationQuery{LeaseEnds: store.TimeRange{Before: time.UnixMilli(5000)}}), "cb")
	is.Equal(ids(store.ActivationQuery{LeaseEnds: store.TimeRange{Before: time.UnixMilli(0), OrNone: true}}), "a")
	list, err := st.Licenses(context.Background(), store.LicenseQuery{CustomerID: "c", ProductID: "p"})
	is.NoErr(err)
	is.Equal(len(list), 1)
}

// TestFirstReleaseIsLockedOut has a file open as a process of the first release
// has it, while this version migrates it. No statement on events, entries or
// licenses runs any more.
func TestFirstReleaseIsLockedOut(t *testing.T) {
	is := is.New(t)
	path, old := firstFile(t)
	statements := []string{
		`INSERT INTO event (id, type, actor, request_id, subject, product_id, customer_id) VALUES ('e', '', '', '', '', '', '')`,
		`SELECT seq FROM event`,
		`DELETE FROM event WHERE seq IN (SELECT seq FROM event WHERE seq <= 0)`,
		`INSERT INTO entry (kind, key, owner, expires_at) VALUES ('token', 'k', '', 1)`,
		`SELECT data FROM entry WHERE kind = 'token' AND key = 'k'`,
		`DELETE FROM entry WHERE kind = 'token' AND key = 'k'`,
		`SELECT id, name FROM license`,
		`UPDATE license SET name = '' WHERE id = 'l'`,
	}
	for _, text := range statements {
		_, err := old.exec(text)
		is.NoErr(err)
	}

	openAt(t, path)
	for _, text := range statements {
		if _, err := old.exec(text); err == nil {
			t.Errorf("runs: %s", text)
		}
	}
}

// TestFirstRecordsGetDocuments compares the documents of licenses and activations
// with their columns in the first release, and counts the active activations.
func TestFirstRecordsGetDocuments(t *testing.T) {
	is := is.New(t)
	path, c := firstFile(t)
	is.NoErr(c.script(`
		INSERT INTO license (id, name, product_id, customer_id, key, state, state_reason, grace_seconds, max_activations, lease_seconds, revision, expires_at)
		VALUES ('l', 'n', 'p', 'c', 'k', 'active', '', 0, 3, 60, 1, 5000), ('m', 'n', 'p', 'c', 'k2', 'active', '', 0, 3, 60, 1, NULL);
		INSERT INTO license (id, name, product_id, customer_id, key, state, state_reason, state_at, starts_at, expires_at, grace_seconds,
			max_activations, lease_seconds, entitlements, metadata, revision, created_at, updated_at)
		VALUES ('n', 'Ünïcode "\' || char(9, 1, 39, 8232) || '</', 'x', 'c', 'k3', 'revoked', 'why', 0, 1, -1, 7, 0, -1, x'7b2261223a20312e307d', x'7b7d', 9, -1, 3),
			('o', '', 'x', 'c', 'k4', 'active', '', NULL, NULL, NULL, 0, -1, -1, NULL, NULL, 0, NULL, NULL);
		INSERT INTO activation (license_id, id, fingerprint, name, lease_ends_at, ended_at, end_reason, created_at, last_seen_at, metadata)
		VALUES ('l', 'a', 'fa', 'n', 2000, NULL, 'r', 1, 2, x'7b7d'), ('l', 'b', 'fb', '', NULL, NULL, '', 1, 2, NULL), ('l', 'c', 'fc', '', NULL, 3, '', 1, 2, NULL),
			('m', 'a', 'fa', '', NULL, NULL, '', 1, 2, NULL)`))

	st, ctx := openAt(t, path), t.Context()
	rows, err := st.Activations(ctx, store.ActivationQuery{LicenseID: "l"})
	is.NoErr(err)
	is.Equal(len(rows), 3)
	is.Equal(rows[0], store.Activation{
		LicenseID: "l", ID: "a", Fingerprint: "fa", LeaseEndsAt: time.UnixMilli(2000).UTC(),
		Document: []byte(`{"name":"n","reason":"r","metadata":{},"created":1,"seen":2}`),
	})
	licenses, err := st.Licenses(ctx, store.LicenseQuery{ProductID: "x"})
	is.NoErr(err)
	is.Equal(licenses, []store.License{{
		ID: "n", Key: "k3", CustomerID: "c", ProductID: "x", State: "revoked",
		StartsAt: time.UnixMilli(1).UTC(), ExpiresAt: time.UnixMilli(-1).UTC(),
		Document: []byte(`{"name":"Ünïcode \"\\\t\u0001'` + "\u2028" + `</","reason":"why","since":0,"grace":7,"seats":0,` +
			`"entitlements":{"a": 1.0},"metadata":{},"revision":9,"created":-1,"updated":3}`),
	}, {
		ID: "o", Key: "k4", CustomerID: "c", ProductID: "x", State: "active", Document: []byte("{}"),
	}})
	for id, want := range map[string]string{"l": "2", "m": "1"} {
		e, err := st.Entry(ctx, "seats", id)
		is.NoErr(err)
		is.Equal(string(e.Data), want)
		is.Equal(e.Move, store.Derived)
	}
	ending, err := st.Licenses(ctx, store.LicenseQuery{ProductID: "p", Order: store.ByExpiresAt})
	is.NoErr(err)
	is.Equal(len(ending), 1)
	is.NoErr(st.Update(ctx, func(tx store.Tx) error { return tx.DeleteLicense(ctx, "l") }))
	rows, err = st.Activations(ctx, store.ActivationQuery{LicenseID: "l"})
	is.NoErr(err)
	is.Equal(len(rows), 3)
}

// TestKilledMigrationStartsAgain kills a process immediately before it commits a
// migration, when its log has most of the new pages. Before that, a process of the
// first release still reads, and does not write. Nothing is lost, and the next
// process migrates the file.
func TestKilledMigrationStartsAgain(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	path, old := firstFile(t)
	const n = 3000
	is.NoErr(old.script(fmt.Sprintf(`
		BEGIN;
		WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)
		INSERT INTO license (id, name, product_id, customer_id, key, state, state_reason, grace_seconds, max_activations, lease_seconds, metadata, revision)
		SELECT printf('l%%06d', i), 'a name', 'p', 'c' || i, 'key ' || i, 'active', '', 0, 3, 60, CAST(printf('{"%%0900d": 1}', i) AS BLOB), 1 FROM n;
		INSERT INTO activation (license_id, id, fingerprint, name, end_reason) SELECT id, 'a', 'f', 'a name', '' FROM license;
		INSERT INTO license_term (term, license_id) SELECT 'word', id FROM license;
		INSERT INTO event (id, type, actor, request_id, subject, product_id, customer_id) SELECT id, '', '', '', id, 'p', customer_id FROM license;
		COMMIT`, n)))
	digest := func() (text string) {
		t.Helper()
		is.NoErr(old.query(t.Context(), `SELECT count(*) || ' ' || sum(length(metadata)) || ' ' || (SELECT count(*) FROM activation) || ' ' ||
			(SELECT count(*) FROM license_term) || ' ' || (SELECT count(*) FROM event) FROM license`, nil, func(r *row) { text = r.text() }))
		return text
	}
	before := digest()

	cmd, out := child(t, "migrate", path, "")
	lines := bufio.NewScanner(out)
	is.True(lines.Scan())
	is.Equal(lines.Text(), "migrated")
	log, err := os.Stat(path + "-wal")
	is.NoErr(err)
	require.Greater(t, log.Size(), 1<<20) // pages that are not committed
	is.Equal(digest(), before)
	_, err = old.exec(`DELETE FROM license`)
	is.Equal(primary(code(err)), lib.SQLITE_BUSY)
	is.NoErr(cmd.Process.Kill())
	cmd.Wait()

	v, err := version(old)
	is.NoErr(err)
	is.Equal(v, 1)
	is.Equal(digest(), before)
	is.NoErr(old.close())

	st, ctx := openAt(t, path), t.Context()
	found := 0
	for q, more := (store.LicenseQuery{}), true; more; {
		page, err := st.Licenses(ctx, q)
		is.NoErr(err)
		found += len(page)
		if more = len(page) > 0; more {
			q.After.ID = page[len(page)-1].ID
		}
	}
	is.Equal(found, n)
	newest, err := st.Events(ctx, store.EventQuery{Descending: true, Limit: 1})
	is.NoErr(err)
	is.Equal(newest[0].Seq, int64(n))
	last, err := st.License(ctx, fmt.Sprintf("l%06d", n))
	is.NoErr(err)
	is.Equal(string(last.Document), fmt.Sprintf(`{"name":"a name","seats":3,"lease":60,"metadata":{"%0900d": 1},"revision":1}`, n))
	is.NoErr(st.Check(ctx))
}
