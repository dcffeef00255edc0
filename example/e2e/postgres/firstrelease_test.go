package postgres_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/example/internal/firstrelease"
	"github.com/seed-d8a106b4/licensekit/internal/require"
	"github.com/seed-d8a106b4/licensekit/store/postgres"
)

// TestFirstReleaseDump restores a dump of the first release and opens it. See
// internal/firstrelease/testdata/README.md for its content.
func TestFirstReleaseDump(t *testing.T) {
	is := is.New(t)
	dsn := sharedDSN(t)
	db := open(t, "pgx", dsn)
	schema := newSchema(t, db)
	f, err := os.Open(filepath.Join("testdata", "first_release.sql.gz"))
	is.NoErr(err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	is.NoErr(err)
	dump, err := io.ReadAll(z)
	is.NoErr(err)

	psql, err := exec.LookPath("psql")
	if err != nil {
		found, err := filepath.Glob("/usr/lib/postgresql/*/bin/psql")
		is.NoErr(err)
		require.Greater(t, len(found), 0) // psql is installed with the server
		psql = found[len(found)-1]
	}
	restore := exec.CommandContext(t.Context(), psql, "--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1", "--dbname="+dsn)
	restore.Stdin = bytes.NewReader(bytes.ReplaceAll(dump, []byte("first_release"), []byte(schema)))
	if out, err := restore.CombinedOutput(); err != nil {
		t.Fatalf("psql: %v\n%s", err, out)
	}

	st, err := postgres.New(t.Context(), db, postgres.Options{Schema: schema})
	is.NoErr(err)
	defer st.Close()
	for _, statement := range []string{ // of a process of the first release that still runs
		`INSERT INTO S.licensing_event (id, type, actor, request_id, subject, product_id, customer_id, data) VALUES ('e', '', '', '', '', '', '', '')`,
		`DELETE FROM S.licensing_event`,
		`INSERT INTO S.licensing_entry (kind, key, owner, data, expires_at) VALUES ('token', 'k', '', '', 1)`,
		`DELETE FROM S.licensing_entry WHERE kind = 'token'`,
		`SELECT name FROM S.licensing_license`,
		// of one whose Updates do not take the lock of a row
		`INSERT INTO S.licensing_events (id, type, time, actor, request_id, subject, product_id, customer_id, data) VALUES ('e', '', 0, '', '', '', '', '', '')`,
		`INSERT INTO S.licensing_entries (kind, key, owner, data, expires_at, move) VALUES ('token', 'k', '', '', 1, 1)`,
		`UPDATE S.licensing_license SET document = ''`,
	} {
		if _, err := db.Exec(strings.ReplaceAll(statement, "S.", quote(schema)+".")); err == nil {
			t.Errorf("runs: %s", statement)
		}
	}
	firstrelease.Check(t, st, false)
}
