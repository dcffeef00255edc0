//go:build linux

package recovery

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/files"
)

// TestDeletedLog: the process has the only copy of the newest changes, and writes
// them into the file when it stops cleanly. SIGKILL loses them.
func TestDeletedLog(t *testing.T) {
	is := is.New(t)
	for _, clean := range []bool{true, false} {
		s := newService(t)
		s.start()
		ids := s.creates(50)
		is.NoErr(os.Remove(file + "-wal"))
		s.await("unavailable", func() bool { return s.create("n") == "" && slices.Contains(s.problems(), "store_unavailable") })
		if clean {
			s.follow("licenses.db-wal was deleted")
			is.NoErr(s.stop(syscall.SIGTERM))
		} else {
			s.stop(syscall.SIGKILL)
		}
		s.start()
		if clean {
			is.Equal(s.lost(ids), 0)
			is.Equal(len(s.creates(1)), 1)
		} else {
			require.Greater(t, s.lost(ids), 0)
		}
	}
}

// TestDeletedFile: the process has the only copy, so it is copied before the process
// is stopped.
func TestDeletedFile(t *testing.T) {
	is := is.New(t)
	s := newService(t)
	s.start()
	ids := s.creates(50)
	is.NoErr(os.Remove(file))
	s.await("unavailable", func() bool { return s.create("n") == "" && slices.Contains(s.problems(), "store_unavailable") })
	s.follow("licenses.db was deleted")
	s.stop(syscall.SIGKILL)
	s.start()
	is.Equal(s.lost(ids), 0)
	is.Equal(len(s.creates(1)), 1)
}

// TestFullDisk: changes fail, reads work, and changes succeed again without a restart.
func TestFullDisk(t *testing.T) {
	is := is.New(t)
	if _, err := exec.LookPath("prlimit"); err != nil {
		t.Skip(err)
	}
	s := newService(t)
	s.start(variableLimit + "=1000000")
	var ids []string
	for id := s.create("n"); id != ""; id = s.create("n") {
		ids = append(ids, id)
	}
	require.Greater(t, len(ids), 10)
	t.Logf("%d changes acknowledged before the disk was full", len(ids))
	is.Equal(s.lost(ids), 0)
	s.await("writes_failing", func() bool { return slices.Contains(s.problems(), "writes_failing") })
	status, _ := s.send("GET", "/ready", "")
	is.Equal(status, http.StatusOK)
	is.NoErr(exec.Command("prlimit", "--pid="+strconv.Itoa(s.cmd.Process.Pid), "--fsize=unlimited:unlimited").Run()) // room
	s.await("a change", func() bool { return s.create("n") != "" })
	is.Equal(s.lost(ids), 0)
}

// TestCorruptPage: the service says that the file is damaged, and a backup replaces
// it.
func TestCorruptPage(t *testing.T) {
	is := is.New(t)
	s := newService(t)
	s.start()
	before := s.creates(200)
	s.backup()
	after := s.creates(10)
	is.NoErr(s.stop(syscall.SIGTERM))
	damage(t)
	s.start()
	s.await("store_damaged", func() bool {
		s.lost(before)
		return slices.Contains(s.problems(), "store_damaged")
	})
	status, _ := s.send("GET", "/ready", "")
	is.Equal(status, http.StatusServiceUnavailable)
	is.True(exec.Command(programs+"/licensekit", "check", "--store", file).Run() != nil)
	s.follow("A page is corrupt")
	s.stop(syscall.SIGTERM)
	s.start()
	is.Equal(s.lost(before), 0)
	is.Equal(s.lost(after), len(after)) // since the backup
}

// damage overwrites pages in the middle of the file.
func damage(t *testing.T) {
	t.Helper()
	is := is.New(t)
	f, err := os.OpenFile(file, os.O_RDWR, 0)
	is.NoErr(err)
	defer f.Close()
	info, err := f.Stat()
	is.NoErr(err)
	const page = 4096
	for at := info.Size() / 2 / page * page; at < info.Size()-8*page; at += 2 * page {
		_, err := f.WriteAt(bytes.Repeat([]byte{0xa5}, page), at)
		is.NoErr(err)
	}
}

// TestLostMasterKey: what the key encrypted is replaced.
func TestLostMasterKey(t *testing.T) {
	is := is.New(t)
	var received atomic.Int64
	receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { received.Add(1) }))
	defer receiver.Close()
	s := newService(t)
	s.start()
	status, hook := s.send("POST", "/webhook", `{"url":"`+receiver.URL+`"}`)
	is.Equal(status, http.StatusCreated)
	id := s.creates(1)[0]
	status, _ = s.send("POST", "/license/"+id+"/file", "")
	is.Equal(status, http.StatusOK)
	s.await("a delivery", func() bool { return received.Load() > 0 })
	is.NoErr(s.stop(syscall.SIGTERM))

	s.key = masterKey('o')
	s.start(variableAhead + "=1m")
	is.True(slices.Contains(s.problems(), "secrets_unreadable"))
	status, _ = s.send("POST", "/license/"+id+"/file", "")
	is.Equal(status, http.StatusInternalServerError)
	got := received.Load()
	s.creates(1)

	status, _ = s.send("POST", "/webhook/"+hook["id"].(string)+"/rotate", `{"overlap_seconds":0}`)
	is.Equal(status, http.StatusOK)
	s.await("a delivery", func() bool { return received.Load() > got })
	is.NoErr(s.stop(syscall.SIGTERM))
	s.inside(func(h *licensing.Handler) {
		keys, err := h.Files().Keys(t.Context())
		is.NoErr(err)
		next := slices.IndexFunc(keys, func(k files.Key) bool { return k.State == files.KeyNext })
		_, err = h.Files().RetireKey(t.Context(), keys[next].ID)
		is.NoErr(err)
		_, err = h.Files().RotateKey(t.Context(), files.RotateKeyParams{Force: true})
		is.NoErr(err)
	})
	s.start(variableAhead + "=2m")
	status, answer := s.send("POST", "/license/"+id+"/file", "")
	is.Equal(status, http.StatusOK)
	s.inside(func(h *licensing.Handler) {
		set, err := h.Files().KeySet(t.Context())
		is.NoErr(err)
		_, err = set.Verify(answer["file"].(string))
		is.NoErr(err)
	})
	is.True(!slices.Contains(s.problems(), "secrets_unreadable"))
}
