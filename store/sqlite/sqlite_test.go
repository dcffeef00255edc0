package sqlite

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/storetest"
)

// open returns a store on a new file.
func open(t testing.TB) *Store {
	t.Helper()
	return openAt(t, filepath.Join(t.TempDir(), "licenses.db"))
}

// openAt returns a store on the file at path.
func openAt(t testing.TB, path string) *Store {
	t.Helper()
	st, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	return st
}

func TestRules(t *testing.T) {
	storetest.Run(t, func(t *testing.T) store.Store { return open(t) })
}

func TestDurable(t *testing.T) {
	storetest.RunDurable(t, func(t *testing.T, dir string) store.Store {
		st, err := Open(filepath.Join(dir, "licenses.db"))
		if err != nil {
			t.Fatal(err)
		}
		return st
	})
}

func BenchmarkStore(b *testing.B) {
	storetest.Benchmark(b, func(b *testing.B) store.Store { return open(b) })
}

// TestConnectionsAreAsTheyShouldBe reads back the pragmas, since the engine
// takes one that it does not know for a comment.
func TestConnectionsAreAsTheyShouldBe(t *testing.T) {
	is := is.New(t)
	st, err := OpenWith(filepath.Join(t.TempDir(), "licenses.db"), Options{BusyTimeout: 7 * time.Second, MmapSize: 1 << 20})
	is.NoErr(err)
	defer st.Close()
	check := func(c *conn, want map[string]int64) {
		for pragma, want := range want {
			got, err := c.integer("PRAGMA " + pragma)
			is.NoErr(err)
			if got != want {
				t.Errorf("%s is %d, want %d", pragma, got, want)
			}
		}
	}
	check(st.writer.conn, map[string]int64{
		"busy_timeout": 0, "synchronous": 2, "wal_autocheckpoint": maxLogPages, "journal_size_limit": 64 << 20,
		"temp_store": 2, "cache_size": -4096, "mmap_size": 1 << 20, "query_only": 0, "application_id": applicationID,
		"secure_delete": 1,
	})
	for _, p := range []*pool{st.readers, st.lists, st.views} {
		c, err := p.take(t.Context())
		is.NoErr(err)
		check(c, map[string]int64{"busy_timeout": 7000, "query_only": 1, "synchronous": 2, // for checkpoints
			"temp_store": 2, "cache_size": -2048, "mmap_size": 1 << 20})
		_, err = c.exec("DELETE FROM license")
		is.True(err != nil)
		p.put(c)
	}
}
