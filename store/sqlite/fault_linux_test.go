package sqlite

import (
	"errors"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// failReads makes every read of the file at path fail with EIO, as a broken
// disk does, until the result is called. It puts the memory of the process in
// place of the open file: nothing is at the low addresses.
func failReads(t *testing.T, path string) (restore func()) {
	t.Helper()
	mem, err := os.Open("/proc/self/mem")
	if err != nil {
		t.Skip(err)
	}
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip(err)
	}
	saved := map[int]int{}
	for _, entry := range fds {
		if target, _ := os.Readlink("/proc/self/fd/" + entry.Name()); target != path {
			continue
		}
		fd, _ := strconv.Atoi(entry.Name())
		if saved[fd], err = syscall.Dup(fd); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Dup3(int(mem.Fd()), fd, syscall.O_CLOEXEC); err != nil {
			t.Fatal(err)
		}
	}
	if len(saved) == 0 {
		t.Fatal("the file is not open")
	}
	return func() {
		for fd, original := range saved {
			if err := errors.Join(syscall.Dup3(original, fd, syscall.O_CLOEXEC), syscall.Close(original)); err != nil {
				t.Error(err)
			}
		}
		mem.Close()
	}
}

func TestFailedReadIsUnavailable(t *testing.T) {
	is := is.New(t)
	path := filepath.Join(t.TempDir(), "licenses.db")
	st := openAt(t, path)
	ctx := t.Context()
	is.NoErr(st.Update(ctx, func(tx store.Tx) error {
		for i := range 200 {
			if err := tx.CreateLicenses(ctx, benchLicense(i)); err != nil {
				return err
			}
		}
		return nil
	}))
	inTurn(t, st.writer, func(c *conn) {
		_, err := c.exec("PRAGMA wal_checkpoint") // reads go to the file
		is.NoErr(err)
	})
	_, err := st.License(ctx, benchLicense(0).ID) // opens a connection
	is.NoErr(err)

	restore := failReads(t, path)
	_, err = st.License(ctx, benchLicense(150).ID)
	restore()
	require.ErrorIs(t, err, store.ErrUnavailable)
	w := httptest.NewRecorder()
	licensing.NewHandler(memory.New(), licensing.Options{Logger: slog.New(slog.DiscardHandler)}).WriteError(w, httptest.NewRequest("GET", "/license", nil), err)
	is.Equal(w.Code, 503)
}
