package sqlite_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
	"github.com/seed-d8a106b4/licensekit/store/sqlite"
)

func addLicense(t *testing.T, st store.Store, id string) error {
	return st.Update(t.Context(), func(tx store.Tx) error {
		return tx.CreateLicenses(t.Context(), store.License{ID: id, Key: id})
	})
}

func getStatus(h http.Handler, path string) int {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
	return w.Code
}

// openGuarded opens a store that logs into the buffer.
func openGuarded(t *testing.T, path string) (*sqlite.Store, *bytes.Buffer) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("Windows does not delete or rename an open file")
	}
	var logged bytes.Buffer
	st, err := sqlite.OpenWith(path, sqlite.Options{Logger: slog.New(slog.NewTextHandler(&logged, nil))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	return st, &logged
}

// TestMissingFileIsNoticed deletes, moves and replaces the files of an open
// store. Nothing may be acknowledged until they are back.
func TestMissingFileIsNoticed(t *testing.T) {
	for name, suffix := range map[string]string{"database": "", "log": "-wal"} {
		for _, replaced := range []bool{false, true} {
			t.Run(name+map[bool]string{false: " moved", true: " replaced"}[replaced], func(t *testing.T) {
				is := is.New(t)
				path := filepath.Join(t.TempDir(), "licenses.db")
				st, logged := openGuarded(t, path)
				h := licensing.NewHandler(st, licensing.Options{Logger: slog.New(slog.DiscardHandler)})
				is.NoErr(addLicense(t, st, "a"))
				is.Equal(getStatus(h, "/ready"), 200)

				is.NoErr(os.Rename(path+suffix, path+".moved"))
				if replaced {
					is.NoErr(os.WriteFile(path+suffix, nil, 0o600))
				}
				err := st.Update(t.Context(), func(tx store.Tx) error { t.Error("the update ran"); return nil })
				require.ErrorIs(t, err, store.ErrUnavailable)
				w := httptest.NewRecorder()
				licensing.NewHandler(memory.New(), licensing.Options{Logger: slog.New(slog.DiscardHandler)}).WriteError(w, httptest.NewRequest("POST", "/license", nil), err)
				is.Equal(w.Code, 503)
				is.Equal(getStatus(h, "/ready"), 503)
				require.ErrorIs(t, st.View(t.Context(), func(store.Reader) error { return nil }), store.ErrUnavailable)
				require.ErrorIs(t, addLicense(t, st, "b"), store.ErrUnavailable)
				is.Equal(strings.Count(logged.String(), "level=ERROR"), 1)

				is.NoErr(os.Rename(path+".moved", path+suffix))
				is.NoErr(addLicense(t, st, "b"))
				is.Equal(getStatus(h, "/ready"), 200)
			})
		}
	}
}

func TestFileDeletedDuringAnUpdate(t *testing.T) {
	is := is.New(t)
	path := filepath.Join(t.TempDir(), "licenses.db")
	st, _ := openGuarded(t, path)
	runs := 0
	err := st.Update(t.Context(), func(tx store.Tx) error {
		runs++
		is.NoErr(os.Remove(path))
		return tx.CreateLicenses(t.Context(), store.License{ID: "a", Key: "a"})
	})
	require.ErrorIs(t, err, store.ErrUnknownOutcome)
	is.True(!errors.Is(err, store.ErrUnavailable)) // which says that nothing was written
	is.Equal(runs, 1)
}

// TestCloseKeepsTheLogOfAnotherDatabase closes a store whose file was replaced
// by one that is in use.
func TestCloseKeepsTheLogOfAnotherDatabase(t *testing.T) {
	is := is.New(t)
	folder := t.TempDir()
	path := filepath.Join(folder, "licenses.db")
	st, _ := openGuarded(t, path)
	is.NoErr(addLicense(t, st, "a"))
	for _, suffix := range []string{"", "-wal", "-shm"} {
		is.NoErr(os.Rename(path+suffix, filepath.Join(folder, "old.db"+suffix)))
	}
	other, _ := openGuarded(t, path)
	is.NoErr(addLicense(t, other, "b"))
	is.NoErr(st.Close())
	is.NoErr(addLicense(t, other, "c"))

	old, _ := openGuarded(t, filepath.Join(folder, "old.db")) // what was acknowledged is in the file that was moved
	_, err := old.License(t.Context(), "a")
	is.NoErr(err)
}

// TestDamagedPageEndsReadiness overwrites the pages that have one license. Other
// reads work, so none of them shows the damage.
func TestDamagedPageEndsReadiness(t *testing.T) {
	is := is.New(t)
	path := filepath.Join(t.TempDir(), "licenses.db")
	st, err := sqlite.Open(path)
	is.NoErr(err)
	id := func(n int) string { return fmt.Sprintf("lic_%026d", n) }
	for n := range 200 {
		is.NoErr(st.Update(t.Context(), func(tx store.Tx) error {
			return tx.CreateLicenses(t.Context(), store.License{ID: id(n), Key: id(n), Document: []byte(strings.Repeat(fmt.Sprintf("<%d>", n), 100))})
		}))
	}
	is.NoErr(st.Close())
	data, err := os.ReadFile(path)
	is.NoErr(err)
	damaged := 0
	for page := range len(data) / 4096 {
		if content := data[page*4096:][:4096]; bytes.Contains(content, []byte("<150><150>")) {
			copy(content, bytes.Repeat([]byte{0xa5}, 4096))
			damaged++
		}
	}
	require.Greater(t, damaged, 0)
	is.NoErr(os.WriteFile(path, data, 0o600))

	st, err = sqlite.Open(path)
	is.NoErr(err)
	defer st.Close()
	h := licensing.NewHandler(st, licensing.Options{Logger: slog.New(slog.DiscardHandler)})
	is.Equal(getStatus(h, "/ready"), 200)
	_, err = h.Service().Get(t.Context(), id(150))
	require.ErrorIs(t, err, store.ErrDamaged)
	is.Equal(getStatus(h, "/ready"), 503)
	_, err = st.License(t.Context(), id(10))
	is.NoErr(err)
	is.Equal(getStatus(h, "/ready"), 503)
	is.Equal(h.Health(t.Context()).Problems[0].Code, licensing.HealthDamaged)
}
