package sqlite

import (
	"flag"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/oracle"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/storetest"
)

// empty is a file without records. Migrating every file of the tests would
// take most of their time.
var empty = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "licenses.db")
	st, err := Open(path)
	if err != nil {
		return nil, err
	}
	if err := st.Close(); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

// copyEmpty writes a file without records and returns its path.
func copyEmpty(t testing.TB) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "licenses.db")
	file, err := empty()
	if err == nil {
		err = os.WriteFile(path, file, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// open returns a store without records.
func open(t testing.TB) *Store {
	t.Helper()
	return openAt(t, copyEmpty(t))
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
	t.Parallel()
	storetest.Run(t, func(t *testing.T) store.Store { return open(t) })
}

// TestAnswersAreThoseOfTheReference makes random changes to this store and to
// the reference backend, and asks both the same random questions.
func TestAnswersAreThoseOfTheReference(t *testing.T) {
	t.Parallel()
	rounds := 400
	if raceDetector {
		rounds = 40
	}
	oracle.Compare(t, open(t), rounds, time.Minute, true)
}

var repeats = flag.Bool("repeats", false, "also run the rules where every Update runs twice, and with two stores on one file")

// TestRepeats runs with -repeats only: it takes as long as all other tests, and
// rarely finds what they do not.
func TestRepeats(t *testing.T) {
	if !*repeats {
		return
	}
	t.Run("EveryUpdateRunsTwice", func(t *testing.T) {
		storetest.Run(t, func(t *testing.T) store.Store { return storetest.Twice(open(t)) })
	})
	t.Run("TwoStoresOnOneFile", func(t *testing.T) {
		storetest.Run(t, func(t *testing.T) store.Store {
			path := copyEmpty(t)
			return storetest.Handles(openAt(t, path), openAt(t, path))
		})
	})
}

func TestDurable(t *testing.T) {
	t.Parallel()
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
		_, err = c.exec("DELETE FROM licenses")
		is.True(err != nil)
		p.put(c)
	}
}

// TestUpdateWritesOnlyChangedColumns: a column with an index costs as much if it gets
// its old value again.
func TestUpdateWritesOnlyChangedColumns(t *testing.T) {
	is := is.New(t)
	st, ctx := open(t), t.Context()
	l := store.License{ID: "a", Key: "k", CustomerID: "c", ProductID: "p", State: store.StateActive, ExpiresAt: time.UnixMilli(1).UTC()}
	is.NoErr(st.Update(ctx, func(tx store.Tx) error { return tx.CreateLicenses(ctx, l) }))
	for set, change := range map[string]func(){
		"":                            func() { l.Text = "another" },
		", expires_at = ?":            func() { l.ExpiresAt = l.ExpiresAt.AddDate(1, 0, 0) },
		", key = ?, starts_at = ?":    func() { l.Key, l.StartsAt = "k2", l.ExpiresAt },
		", customer_id = ?":           func() { l.CustomerID = "c2" },
		", product_id = ?, state = ?": func() { l.ProductID, l.State = "p2", store.StateRevoked },
	} {
		change()
		is.NoErr(st.Update(ctx, func(tx store.Tx) error { return tx.UpdateLicense(ctx, l) }))
		got, err := st.License(ctx, l.ID)
		is.NoErr(err)
		is.Equal(got, l)
		inTurn(t, st.writer, func(c *conn) {
			ran := c.stmts["UPDATE licenses SET text = ?, document = ?"+set+" WHERE id = ?"] != nil
			is.Equal(ran, set != "") // an update of no such column has a statement of its own
		})
	}
}
