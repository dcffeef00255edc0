package sqlite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/store"
)

// files returns the names and contents of all files in a folder.
func files(t *testing.T, folder string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(folder, e.Name()))
		if err != nil && !e.IsDir() {
			t.Fatal(err)
		}
		found[e.Name()] = string(data)
	}
	return found
}

func TestEveryPathNamesOneFile(t *testing.T) {
	t.Parallel()
	names := []string{
		"licenses.db", "with space", "ques?tion", "ha#sh", "per%20cent", "am&per=sand", "plus+", "semi;colon", "quo'te\"s",
		"ünïcödé 許可", "?mode=memory", "%", "a:b", ":memory:x", "back`tick", "trailing.",
	}
	if runtime.GOOS == "windows" {
		names = []string{"licenses.db", "with space", "ha#sh", "per%20cent", "am&per=sand", "plus+", "semi;colon", "ünïcödé 許可"}
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			folder := filepath.Join(t.TempDir(), name) // in a folder of that name, too
			is.NoErr(os.Mkdir(folder, 0o700))
			path := filepath.Join(folder, name)
			for id := range 2 {
				st, err := Open(path)
				is.NoErr(err)
				is.NoErr(st.Update(t.Context(), func(tx store.Tx) error { return add(tx, fmt.Sprint(id)) }))
				is.NoErr(st.Close())
			}
			st := openAt(t, path)
			is.Equal(ids(t, st), "0 1")
			is.NoErr(st.Close())
			found := files(t, folder)
			_, ok := found[name]
			is.True(ok)
			is.Equal(len(found), 1) // the log is written back and removed
		})
	}
}

func TestRelativePathStaysTheSameFile(t *testing.T) {
	is := is.New(t)
	folder := t.TempDir()
	t.Chdir(folder)
	st := openAt(t, "licenses.db")
	is.NoErr(st.Update(t.Context(), func(tx store.Tx) error { return add(tx, "a") }))
	t.Chdir(t.TempDir())
	is.Equal(ids(t, st), "a") // the first read opens a connection
	is.NoErr(st.Close())
	is.Equal(len(files(t, folder)), 1)
}

func TestPathsThatCannotBe(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"":                                    "the path is empty; name a file",
		":memory:":                            "use package store/memory",
		"file:licenses.db?mode=ro":            "use the path",
		"a\x00b":                              "NUL byte",
		folder:                                "this is a folder; use the path of a file",
		filepath.Join(folder, "none", "a.db"): "does not exist; create it first",
		filepath.Join(folder, "file", "a.db"): "is not a folder",
	} {
		_, err := Open(path)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "sqlite: open") {
			t.Errorf("Open(%q): %v, want … %s …", path, err, want)
		}
	}
}

func TestBadOptions(t *testing.T) {
	is := is.New(t)
	path := filepath.Join(t.TempDir(), "licenses.db")
	_, err := OpenWith(path, Options{BusyTimeout: -1})
	is.True(err != nil)
	require.Contains(t, err.Error(), "Options.BusyTimeout")
	_, err = OpenWith(path, Options{MmapSize: -1})
	is.True(err != nil)
	require.Contains(t, err.Error(), "Options.MmapSize")
	is.Equal(len(files(t, filepath.Dir(path))), 0)
}

func TestFilesAreForTheirOwnerAlone(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes are of POSIX")
	}
	is := is.New(t)
	path := filepath.Join(t.TempDir(), "licenses.db")
	st := openAt(t, path)
	is.NoErr(st.Update(t.Context(), func(tx store.Tx) error { return add(tx, "a") }))
	for _, suffix := range []string{"", "-wal", "-shm"} {
		info, err := os.Stat(path + suffix)
		is.NoErr(err)
		is.Equal(info.Mode(), os.FileMode(0o600))
	}
}

// TestFileOfAnotherIsRefusedAndLeft offers files that are not ours.
func TestFileOfAnotherIsRefusedAndLeft(t *testing.T) {
	script := func(text string) func(t *testing.T, path string) {
		return func(t *testing.T, path string) {
			c, err := connect(dsn(path, "rwc", nil))
			if err == nil {
				err = errors.Join(c.script(text), c.close())
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	bytesOf := func(data string) func(t *testing.T, path string) {
		return func(t *testing.T, path string) {
			if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	tests := map[string]struct {
		make func(t *testing.T, path string)
		want string
	}{
		"text":              {bytesOf("Dear diary,\n" + strings.Repeat("nothing happened today.\n", 100)), "not a SQLite file"},
		"one byte":          {bytesOf("x"), "not a SQLite file"},
		"zeros":             {bytesOf(strings.Repeat("\x00", 8192)), "not a SQLite file"},
		"tables":            {script(`CREATE TABLE cat (name TEXT); INSERT INTO cat VALUES ('Tom')`), "another program"},
		"tables in WAL":     {script(`PRAGMA journal_mode = WAL; CREATE TABLE cat (name TEXT)`), "another program"},
		"application id":    {script(`PRAGMA application_id = 17`), "another program"},
		"version alone":     {script(`PRAGMA user_version = 17`), "another program"},
		"ours, but newer":   {script(fmt.Sprintf(`PRAGMA journal_mode = WAL; PRAGMA application_id = %d; CREATE TABLE schema (version, usable_from, note); INSERT INTO schema VALUES (99, 98, '')`, applicationID)), "newer version"},
		"ours, no schema":   {script(fmt.Sprintf(`PRAGMA application_id = %d; CREATE TABLE cat (name TEXT)`, applicationID)), "another program"},
		"log not yet empty": {makeCrashed, "another program"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			folder := t.TempDir()
			path := filepath.Join(folder, "other.db")
			tt.make(t, path)
			before := files(t, folder)
			_, err := Open(path)
			is.True(err != nil)
			if !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "not changed") {
				t.Error(err)
			}
			is.Equal(files(t, folder), before)
		})
	}
}

// makeCrashed makes a database of another program whose log has not been
// written back, as after a crash: a copy of one that is in use.
func makeCrashed(t *testing.T, path string) {
	live := filepath.Join(t.TempDir(), "live.db")
	c, err := connect(dsn(live, "rwc", nil))
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	err = c.script(`PRAGMA journal_mode = WAL; CREATE TABLE cat (name TEXT); PRAGMA wal_checkpoint; INSERT INTO cat VALUES ('Tom')`)
	if err != nil {
		t.Fatal(err)
	}
	for _, suffix := range []string{"", "-wal"} {
		data, err := os.ReadFile(live + suffix)
		if err == nil {
			err = os.WriteFile(path+suffix, data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestDamagedFileIsNeverReplaced overwrites pages of a database file.
func TestDamagedFileIsNeverReplaced(t *testing.T) {
	const page = 4096
	noise := bytes.Repeat([]byte{0xa5, 0x5a, 0x01}, page)[:page]
	for _, damage := range []struct {
		name  string
		pages func(n int) []int
	}{
		{"header", func(int) []int { return []int{0} }},
		{"all but the header", func(n int) []int {
			var all []int
			for i := 1; i < n; i++ {
				all = append(all, i)
			}
			return all
		}},
		{"the end is missing", nil},
	} {
		t.Run(damage.name, func(t *testing.T) {
			is := is.New(t)
			path := filepath.Join(t.TempDir(), "licenses.db")
			st := openAt(t, path)
			is.NoErr(st.Update(t.Context(), func(tx store.Tx) error {
				for i := range 200 {
					if err := tx.CreateLicenses(t.Context(), benchLicense(i)); err != nil {
						return err
					}
				}
				return nil
			}))
			is.NoErr(st.Close())
			data, err := os.ReadFile(path)
			is.NoErr(err)
			if damage.pages == nil {
				data = data[:len(data)/page/2*page]
			} else {
				for _, i := range damage.pages(len(data) / page) {
					copy(data[i*page:], noise)
				}
			}
			is.NoErr(os.WriteFile(path, data, 0o600))

			st, err = Open(path)
			if err != nil {
				t.Log(err)
				after, err := os.ReadFile(path)
				is.NoErr(err)
				is.True(bytes.Equal(after, data))
				return
			}
			defer st.Close()
			_, err = st.License(t.Context(), benchLicense(150).ID)
			t.Log(err)
			is.True(err != nil && !errors.Is(err, store.ErrNotFound))
			err = st.Update(t.Context(), func(tx store.Tx) error { return tx.CreateLicenses(t.Context(), benchLicense(1000)) })
			t.Log(err)
			is.True(err != nil)
		})
	}
}

func TestManyOpenANewFileConcurrently(t *testing.T) {
	is := is.New(t)
	path := filepath.Join(t.TempDir(), "licenses.db")
	stores := make([]*Store, 8)
	errs := make([]error, len(stores))
	var all sync.WaitGroup
	start := make(chan struct{})
	for i := range stores {
		all.Go(func() {
			<-start
			if stores[i], errs[i] = Open(path); errs[i] == nil {
				errs[i] = stores[i].Update(t.Context(), func(tx store.Tx) error { return add(tx, fmt.Sprint(i)) })
			}
		})
	}
	close(start)
	all.Wait()
	is.NoErr(errors.Join(errs...))
	for _, st := range stores {
		is.Equal(ids(t, st), "0 1 2 3 4 5 6 7")
		is.NoErr(st.Close())
	}
}

func TestOpeningAgainMigratesNothing(t *testing.T) {
	is := is.New(t)
	folder := t.TempDir()
	path := filepath.Join(folder, "licenses.db")
	is.NoErr(openAt(t, path).Close())
	before := files(t, folder)
	is.NoErr(openAt(t, path).Close())
	is.Equal(files(t, folder), before)

	c, err := connect(dsn(path, "ro", nil))
	is.NoErr(err)
	defer c.close()
	n, err := version(c)
	is.NoErr(err)
	is.Equal(n, len(steps))
	names, err := migrations.ReadDir("migrations")
	is.NoErr(err)
	for i, name := range names { // in order, without a gap
		require.HasPrefix(t, name.Name(), fmt.Sprintf("%04d_", i+1))
	}
}

func TestCloseWaitsForWhatIsInProgress(t *testing.T) {
	is := is.New(t)
	path := filepath.Join(t.TempDir(), "licenses.db")
	st := openAt(t, path)
	ctx := t.Context()
	goOn, running := make(chan struct{}), make(chan struct{})
	var all sync.WaitGroup
	all.Go(func() {
		is.NoErr(st.Update(ctx, func(tx store.Tx) error {
			close(running)
			<-goOn
			return add(tx, "a")
		}))
	})
	<-running
	all.Go(func() { is.NoErr(st.Update(ctx, func(tx store.Tx) error { return add(tx, "b") })) })
	waitFor(t, "update in line", func() bool { return inLine(st.writer) == 1 })

	closed := make(chan error, 1)
	go func() { closed <- st.Close() }()
	waitFor(t, "refusal", func() bool {
		_, err := st.License(ctx, "a")
		return errors.Is(err, store.ErrUnavailable)
	})
	require.ErrorIs(t, st.Update(ctx, func(store.Tx) error { return nil }), store.ErrUnavailable)
	require.ErrorIs(t, st.View(ctx, func(store.Reader) error { return nil }), store.ErrUnavailable)
	select {
	case <-closed:
		t.Error("Close did not wait")
	default:
	}
	close(goOn)
	is.NoErr(<-closed)
	all.Wait()
	is.NoErr(st.Close()) // again
	is.Equal(len(files(t, filepath.Dir(path))), 1)
	is.Equal(ids(t, openAt(t, path)), "a b")
}

// TestUpdateGivesUpOnABusyFile has another process keep the file to itself.
func TestUpdateGivesUpOnABusyFile(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	path := filepath.Join(t.TempDir(), "licenses.db")
	st, err := OpenWith(path, Options{BusyTimeout: 200 * time.Millisecond})
	is.NoErr(err)
	defer st.Close()
	other := openAt(t, path)
	is.NoErr(other.Update(t.Context(), func(tx store.Tx) error {
		// Many wait at the same time, not one after the other.
		begun := time.Now()
		var all sync.WaitGroup
		for i := range 20 {
			all.Go(func() {
				err := st.Update(t.Context(), func(tx store.Tx) error { return add(tx, fmt.Sprint(i)) })
				require.ErrorIs(t, err, store.ErrUnavailable)
			})
		}
		all.Wait()
		require.Less(t, time.Since(begun), 20*200*time.Millisecond/2)
		_, err := st.License(t.Context(), "a") // reads continue
		require.ErrorIs(t, err, store.ErrNotFound)
		return add(tx, "a")
	}))
	is.NoErr(st.Update(t.Context(), func(tx store.Tx) error { return add(tx, "b") }))
	is.Equal(ids(t, other), "a b")
}

// TestTheQueueUsesNoBusyTimeout: an update that has waited longer than
// BusyTimeout for updates of its own process still waits for another process.
func TestTheQueueUsesNoBusyTimeout(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	path := filepath.Join(t.TempDir(), "licenses.db")
	const patience = 200 * time.Millisecond
	st, err := OpenWith(path, Options{BusyTimeout: patience})
	is.NoErr(err)
	defer st.Close()
	other := openAt(t, path)

	result, blocked, release := make(chan error, 1), make(chan struct{}), make(chan struct{})
	inTurn(t, st.writer, func(*conn) {
		go func() {
			result <- st.Update(t.Context(), func(tx store.Tx) error { return add(tx, "a") })
		}()
		waitFor(t, "update in line", func() bool { return inLine(st.writer) == 1 })
		time.Sleep(2 * patience)
		go other.Update(context.Background(), func(store.Tx) error {
			close(blocked)
			<-release
			return nil
		})
		<-blocked
	})
	time.Sleep(patience / 10)
	close(release)
	is.NoErr(<-result)
}

func TestContextEndsTheWaitForAnotherProcess(t *testing.T) {
	is := is.New(t)
	path := filepath.Join(t.TempDir(), "licenses.db")
	st, other := openAt(t, path), openAt(t, path)
	is.NoErr(other.Update(t.Context(), func(store.Tx) error {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		err := st.Update(ctx, func(store.Tx) error { return nil })
		require.ErrorIs(t, err, context.DeadlineExceeded)
		return nil
	}))
}
