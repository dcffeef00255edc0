//go:build unix

package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/example/e2e/internal/pgserver"
	"github.com/seed-d8a106b4/licensekit/example/internal/admin"
	"github.com/seed-d8a106b4/licensekit/internal/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store/sqlite"
)

// TestMoveToPostgresAndBack compares the archive of a file with that of the
// tables it was moved to.
func TestMoveToPostgresAndBack(t *testing.T) {
	is := is.New(t)
	server, err := pgserver.New()
	if errors.Is(err, pgserver.ErrNotInstalled) {
		t.Skip(err)
	}
	is.NoErr(err)
	t.Cleanup(func() { server.Remove() })
	is.NoErr(server.Start())
	keygen, err := filepath.Abs("../../internal/admin/testdata/keygen")
	is.NoErr(err)
	t.Chdir(t.TempDir())
	st, err := sqlite.Open("licenses.db")
	is.NoErr(err)
	s := license.New(st, license.Options{})
	_, err = s.Create(t.Context(), api.CreateLicenseParams{Name: "Atlas", ProductID: "atlas", CustomerID: "cus_1"})
	is.NoErr(err)
	is.NoErr(st.Close())
	run := func(args ...string) error { return admin.Run(t.Context(), "admin", open, args, io.Discard, io.Discard) }

	t.Setenv(environment, "")
	err = run("export", "postgres:public", "none.ndjson")
	is.True(err != nil)
	require.Contains(t, err.Error(), environment)
	t.Setenv(environment, server.DSN())
	err = run("export", "postgres:public", "none.ndjson")
	is.True(err != nil)
	require.Contains(t, err.Error(), `the schema "public" has no tables`)

	is.NoErr(run("export", "licenses.db", "there.ndjson"))
	is.NoErr(run("import", "there.ndjson", "postgres:public"))
	is.NoErr(run("export", "postgres:public", "back.ndjson"))
	there, err := os.ReadFile("there.ndjson")
	is.NoErr(err)
	back, err := os.ReadFile("back.ndjson")
	is.NoErr(err)
	is.Equal(string(back), string(there))
	is.True(run("import", "there.ndjson", "postgres:public") != nil) // it is not empty
	var report strings.Builder
	is.NoErr(admin.Run(t.Context(), "admin", open, []string{"move-in", "postgres:public", keygen, "check"}, &report, io.Discard))
	is.NoErr(admin.Run(t.Context(), "admin", open, []string{"move-in", "postgres:public", keygen, "write"}, &report, io.Discard))
	is.Equal(strings.Count(report.String(), "2 new, 0 already here, 0 refused"), 2) // the check has stored nothing
	is.NoErr(run("create-operator", "postgres:public", "ada@example.com", "admin"))

	err = run("backup", "postgres:public", filepath.Join(t.TempDir(), "copy.db"))
	is.True(err != nil)
	require.Contains(t, err.Error(), "pg_dump")
}
