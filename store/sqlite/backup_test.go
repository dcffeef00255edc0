package sqlite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/store"
)

// archive returns what is in a store.
func archive(t *testing.T, st store.Store) string {
	t.Helper()
	var b bytes.Buffer
	err := st.View(t.Context(), func(r store.Reader) error { return store.Export(t.Context(), r, &b) })
	is.New(t).NoErr(err)
	return b.String()
}

func TestBackupIsRestored(t *testing.T) {
	is := is.New(t)
	folder := t.TempDir()
	st := open(t)
	for i := range 50 {
		is.NoErr(st.Update(t.Context(), func(tx store.Tx) error { return add(tx, fmt.Sprint(i)) }))
	}
	backup, restored := filepath.Join(folder, "backup.db"), filepath.Join(folder, "restored.db")
	is.NoErr(st.Backup(t.Context(), backup))
	want := archive(t, st)
	is.NoErr(st.Update(t.Context(), func(tx store.Tx) error { return add(tx, "later") }))

	is.NoErr(os.Chmod(backup, 0o400))
	is.NoErr(Restore(t.Context(), backup, restored))
	again := openAt(t, restored)
	is.Equal(archive(t, again), want)
	is.NoErr(again.Check(t.Context()))
	is.NoErr(again.Update(t.Context(), func(tx store.Tx) error { return add(tx, "after") }))
	info, err := os.Stat(restored)
	is.NoErr(err)
	is.Equal(info.Mode().Perm(), os.FileMode(0o600))
}

// A backup has all of an update or nothing of it, and all that was committed
// before it began.
func TestBackupBesideUpdates(t *testing.T) {
	is := is.New(t)
	folder := t.TempDir()
	st := open(t)
	ctx, stop := context.WithCancel(t.Context())
	var work sync.WaitGroup
	var mu sync.Mutex
	committed := 0
	work.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			err := st.Update(t.Context(), func(tx store.Tx) error {
				return errors.Join(add(tx, fmt.Sprintf("%06d-a", i)), add(tx, fmt.Sprintf("%06d-b", i)))
			})
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			committed++
			mu.Unlock()
		}
	})
	for i := range 5 {
		mu.Lock()
		before := committed
		mu.Unlock()
		path := filepath.Join(folder, fmt.Sprint(i))
		is.NoErr(st.Backup(t.Context(), path))
		entries, err := openAt(t, path).Licenses(t.Context(), store.LicenseQuery{Limit: 1 << 20})
		is.NoErr(err)
		is.Equal(len(entries)%2, 0)
		require.AtLeast(t, len(entries), 2*before)
	}
	stop()
	work.Wait()
}

func TestBackupReplacesNothing(t *testing.T) {
	is := is.New(t)
	folder := t.TempDir()
	st := open(t)
	path := filepath.Join(folder, "backup.db")
	is.NoErr(os.WriteFile(path, []byte("mine"), 0o600))
	require.ErrorIs(t, st.Backup(t.Context(), path), os.ErrExist)
	require.Contains(t, st.Backup(t.Context(), path).Error(), "another path")
	require.ErrorIs(t, Restore(t.Context(), path, path), os.ErrExist)
	is.Equal(files(t, folder), map[string]string{"backup.db": "mine"})

	is.True(st.Backup(t.Context(), filepath.Join(folder, "none", "x")) != nil) // no such folder
	ended, end := context.WithCancel(t.Context())
	end()
	require.ErrorIs(t, st.Backup(ended, filepath.Join(folder, "x")), context.Canceled)
	is.Equal(len(files(t, folder)), 1)
}

func TestRestoreRefusesALogOfAnotherFile(t *testing.T) {
	is := is.New(t)
	folder := t.TempDir()
	st := open(t)
	backup, path := filepath.Join(folder, "backup.db"), filepath.Join(folder, "licenses.db")
	is.NoErr(st.Backup(t.Context(), backup))
	is.NoErr(os.WriteFile(path+"-wal", []byte("log"), 0o600))
	require.ErrorIs(t, Restore(t.Context(), backup, path), os.ErrExist)
	is.Equal(len(files(t, folder)), 2)
}

// TestOpenRefusesALogOfAnotherFile: the engine would write the log into the file,
// or delete it with what it holds.
func TestOpenRefusesALogOfAnotherFile(t *testing.T) {
	is := is.New(t)
	st := open(t)
	is.NoErr(st.Update(t.Context(), func(tx store.Tx) error { return add(tx, "a") }))
	backup := filepath.Join(t.TempDir(), "backup.db")
	is.NoErr(st.Backup(t.Context(), backup))
	is.NoErr(st.Update(t.Context(), func(tx store.Tx) error { return add(tx, "b") }))
	read := func(path string) []byte {
		data, err := os.ReadFile(path)
		is.NoErr(err)
		return data
	}
	file, log, copied := read(st.path), read(st.path+"-wal"), read(backup)
	for _, test := range []struct {
		name    string
		file    []byte // nil: none
		through string // a link to the file
		opens   bool
	}{
		{"no file", nil, "", false},
		{"an empty file", []byte{}, "", false},
		{"a backup", copied, "", false},
		{"a backup by a link", copied, "link.db", false},
		{"the file of the log, as after a crash", file, "", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			is := is.New(t)
			folder := t.TempDir()
			path := filepath.Join(folder, "licenses.db")
			is.NoErr(os.WriteFile(path+"-wal", log, 0o600))
			if test.file != nil {
				is.NoErr(os.WriteFile(path, test.file, 0o600))
			}
			if test.through != "" {
				is.NoErr(os.Symlink(path, filepath.Join(folder, test.through)))
				path = filepath.Join(folder, test.through)
			}
			before := files(t, folder)
			opened, err := Open(path)
			if !test.opens {
				require.ErrorIs(t, err, os.ErrExist)
				is.Equal(files(t, folder), before)
				return
			}
			is.NoErr(err)
			defer opened.Close()
			_, err = opened.License(t.Context(), "b")
			is.NoErr(err)
		})
	}
	is.NoErr(os.WriteFile(backup+"-shm", nil, 0o600))
	_, err := Open(backup)
	require.ErrorIs(t, err, os.ErrExist)
	is.NoErr(os.Remove(backup + "-shm"))
	openAt(t, backup) // which a backup is
}

func TestDamageIsFound(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	folder := t.TempDir()
	st := open(t)
	for i := range 500 {
		is.NoErr(st.Update(t.Context(), func(tx store.Tx) error { return add(tx, fmt.Sprintf("%04d", i)) }))
	}
	is.NoErr(st.Check(t.Context()))
	backup := filepath.Join(folder, "backup.db")
	is.NoErr(st.Backup(t.Context(), backup))
	whole, err := os.ReadFile(backup)
	is.NoErr(err)
	found := 0
	pages := len(whole) / 4096
	for page := 1; page < pages; page++ {
		damaged := bytes.Clone(whole)
		for i := range 64 { // neither zero nor what was there
			damaged[page*4096+i] ^= 0xa5
		}
		path := filepath.Join(folder, fmt.Sprintf("damaged-%d.db", page))
		is.NoErr(os.WriteFile(path, damaged, 0o600))
		if errors.Is(Restore(t.Context(), path, path+".restored"), ErrDamaged) {
			found++
		}
	}
	is.Equal(found, pages-1)

	random := rand.New(rand.NewPCG(1, 2))
	damaged := bytes.Clone(whole)
	middle := len(whole) / 2
	for i := range 4096 {
		damaged[middle+i] = byte(random.Uint32())
	}
	path := filepath.Join(folder, "random.db")
	is.NoErr(os.WriteFile(path, damaged, 0o600))
	st, err = Open(path)
	is.NoErr(err)
	defer st.Close()
	require.ErrorIs(t, st.Check(t.Context()), ErrDamaged)
	_, err = OpenWith(path, Options{Check: true})
	require.ErrorIs(t, err, ErrDamaged)
	sound, err := OpenWith(backup, Options{Check: true})
	is.NoErr(err)
	is.NoErr(sound.Close())

	is.True(Restore(t.Context(), filepath.Join(folder, "none"), filepath.Join(folder, "x")) != nil)
	other := filepath.Join(folder, "other")
	is.NoErr(os.WriteFile(other, []byte("not a database, but long enough to be read as a header"), 0o600))
	is.True(Restore(t.Context(), other, filepath.Join(folder, "x")) != nil)
	_, err = os.Stat(filepath.Join(folder, "x"))
	require.ErrorIs(t, err, os.ErrNotExist)
}
