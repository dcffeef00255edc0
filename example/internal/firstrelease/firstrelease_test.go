package firstrelease_test

import (
	"bytes"
	"compress/gzip"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/example/internal/firstrelease"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
	"github.com/seed-d8a106b4/licensekit/store/sqlite"
)

var update = flag.Bool("update", false, "rewrite testdata/golden.txt from the SQLite file")

// unpack returns the content of a gzipped file.
func unpack(t *testing.T, name string) []byte {
	is := is.New(t)
	f, err := os.Open(filepath.Join("testdata", name))
	is.NoErr(err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	is.NoErr(err)
	text, err := io.ReadAll(z)
	is.NoErr(err)
	return text
}

func openSQLite(t *testing.T, path string) store.Store {
	is := is.New(t)
	st, err := sqlite.Open(path)
	is.NoErr(err)
	t.Cleanup(func() { is.NoErr(st.Close()) })
	return st
}

func TestSQLiteFile(t *testing.T) {
	is := is.New(t)
	path := filepath.Join(t.TempDir(), "licenses.db")
	is.NoErr(os.WriteFile(path, unpack(t, "licenses.db.gz"), 0o600))
	st := openSQLite(t, path)
	if *update {
		lines := firstrelease.Observe(t, st, false)
		is.NoErr(os.WriteFile(filepath.Join("testdata", "golden.txt"), []byte(strings.Join(lines, "\n")+"\n"), 0o644))
		return
	}
	firstrelease.Check(t, st, false)
}

func TestArchiveIntoMemory(t *testing.T) {
	is := is.New(t)
	st := memory.New()
	is.NoErr(store.Import(t.Context(), st, bytes.NewReader(unpack(t, "archive.ndjson.gz"))))
	firstrelease.Check(t, st, true)
}

func TestArchiveIntoSQLite(t *testing.T) {
	is := is.New(t)
	st := openSQLite(t, filepath.Join(t.TempDir(), "licenses.db"))
	is.NoErr(store.Import(t.Context(), st, bytes.NewReader(unpack(t, "archive.ndjson.gz"))))
	firstrelease.Check(t, st, true)
}
