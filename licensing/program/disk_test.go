//go:build linux

package program

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
)

// TestUnusableDir: with a directory that is full or read-only, the program works
// from memory, with a warning; what is there already counts, and what is missing
// is stored once that is possible. The limits are those of a process, so that each
// has its own, of a user who may not write everywhere.
func TestUnusableDir(t *testing.T) {
	if kind := os.Getenv("UNUSABLE_DIR"); kind != "" {
		unusableDir(t, kind)
		return
	}
	for _, kind := range []string{"full", "read-only"} {
		t.Run(kind, func(t *testing.T) {
			dir := t.TempDir()
			binary := filepath.Join(dir, "test")
			text, err := os.ReadFile(os.Args[0])
			if err == nil {
				err = errors.Join(os.WriteFile(binary, text, 0o755), os.Chmod(filepath.Dir(dir), 0o755))
			}
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(t.Context(), binary, "-test.run", "^TestUnusableDir$")
			cmd.Env = append(os.Environ(), "UNUSABLE_DIR="+kind)
			if os.Getuid() == 0 {
				cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
			}
			cmd.Dir = dir
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

func unusableDir(t *testing.T, kind string) {
	spoil := func(dir string) (undo func()) {
		if kind == "read-only" {
			if err := os.Chmod(dir, 0o500); err != nil {
				t.Fatal(err)
			}
			return func() { os.Chmod(dir, 0o700) }
		}
		signal.Ignore(syscall.SIGXFSZ)
		var before syscall.Rlimit
		if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &before); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 0, Max: before.Max}); err != nil {
			t.Fatal(err)
		}
		return func() { syscall.Setrlimit(syscall.RLIMIT_FSIZE, &before) }
	}
	onStage(t, func(s *stage) {
		s.offline(6 * time.Hour)
		b := s.box("pc-1")
		s.NoErr(os.MkdirAll(b.opts.Dir, 0o700))
		undo := spoil(b.opts.Dir)
		defer func() { undo() }()
		l := b.open()
		time.Sleep(time.Second)
		s.is(l, "valid", CodeDirUnusable)
		time.Sleep(4 * time.Hour)
		s.is(l, "valid", CodeDirUnusable)
		s.NoErr(l.SetKey(s.Context(), s.license.Key))
		synctest.Wait()            // the loop may be writing
		s.Equal(len(b.files()), 0) // not even half a file
		undo()
		time.Sleep(10 * time.Minute)
		s.is(l, "valid")
		s.vendor.Die()
		s.True(b.restart(l).Status().Valid)

		undo = spoil(b.opts.Dir)
		l = b.open()
		s.True(l.Status().Valid)
		time.Sleep(10 * time.Minute)
		s.is(l, "valid", CodeUnreachable, CodeDirUnusable)
	})
}

// TestSweep: what a crash has left is removed.
func TestSweep(t *testing.T) {
	is := is.New(t)
	d := disk{t.TempDir()}
	path, err := d.temp("half", true)
	is.NoErr(err)
	d.sweep()
	_, err = os.Stat(path)
	is.NoErr(err) // another process may write it
	old := time.Now().Add(-time.Hour)
	is.NoErr(os.Chtimes(path, old, old))
	d.sweep()
	_, err = os.Stat(path)
	require.ErrorIs(t, err, fs.ErrNotExist)
}
