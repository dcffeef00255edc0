package sqlite

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/store"
)

// TestOverwrittenFileIsNoticed overwrites the file of an open store in place, as
// cp and the shell do. Afterwards nothing may be acknowledged, and the log, which
// has the newest changes, must stay.
func TestOverwrittenFileIsNoticed(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		content func(now, copied, backup []byte) []byte
		reopen  string // what the next Open says, if it can tell
	}{
		"emptied":                {func(now, _, _ []byte) []byte { return nil }, "if the file was emptied by mistake"},
		"truncated":              {func(now, _, _ []byte) []byte { return now[:len(now)/4096/2*4096] }, "because it was truncated"},
		"another file":           {func(now, _, _ []byte) []byte { return bytes.Repeat([]byte("text\n"), len(now)/5) }, "not a SQLite file"},
		"older copy":             {func(_, copied, _ []byte) []byte { return copied }, ""},
		"older copy of its size": {func(now, copied, _ []byte) []byte { return append(copied, now[len(copied):]...) }, ""},
		"backup":                 {func(_, _, backup []byte) []byte { return backup }, ""},
		"part of a backup":       {func(_, _, backup []byte) []byte { return backup[:len(backup)/2] }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // much of the time is spent waiting
			is := is.New(t)
			folder := t.TempDir()
			path := filepath.Join(folder, "licenses.db")
			first := openAt(t, path)
			fillLog(t, first)
			is.NoErr(first.Close())
			copied, err := os.ReadFile(path)
			is.NoErr(err)

			var logged bytes.Buffer
			st, err := OpenWith(path, Options{Logger: slog.New(slog.NewTextHandler(&logged, nil))})
			is.NoErr(err)
			is.NoErr(st.Update(t.Context(), func(tx store.Tx) error {
				for n := range 200 {
					if err := tx.CreateLicenses(t.Context(), benchLicense(n)); err != nil {
						return err
					}
				}
				return nil
			}))
			st.writer.writeBack()
			is.NoErr(st.Backup(t.Context(), path+".bak"))
			is.NoErr(st.Update(t.Context(), func(tx store.Tx) error { return add(tx, "a") }))
			now, err := os.ReadFile(path)
			is.NoErr(err)
			require.Greater(t, len(now), len(copied))
			backup, err := os.ReadFile(path + ".bak")
			is.NoErr(err)

			is.NoErr(os.WriteFile(path, tt.content(now, copied, backup), 0o600))
			err = st.Update(t.Context(), func(tx store.Tx) error { t.Error("the update ran"); return nil })
			require.ErrorIs(t, err, store.ErrUnavailable)
			require.Contains(t, err.Error(), "while it was open")
			require.ErrorIs(t, st.View(t.Context(), func(store.Reader) error { return nil }), store.ErrUnavailable)
			is.Equal(strings.Count(logged.String(), "level=ERROR"), 1)
			require.Contains(t, logged.String(), "restore a backup")
			is.NoErr(os.WriteFile(path, now, 0o600)) // too late: what was read meanwhile is unknown
			require.ErrorIs(t, st.Update(t.Context(), func(store.Tx) error { return nil }), store.ErrUnavailable)

			is.NoErr(os.WriteFile(path, tt.content(now, copied, backup), 0o600))
			log, err := os.ReadFile(path + "-wal")
			is.NoErr(err)
			is.True(st.Close() != nil)
			after, err := os.ReadFile(path + "-wal")
			is.NoErr(err)
			is.True(bytes.Equal(after, log))
			if tt.reopen != "" {
				_, err = Open(path)
				is.True(err != nil)
				if !strings.Contains(err.Error(), tt.reopen) {
					t.Error(err)
				}
			}
		})
	}
}

// TestVacuumByAnotherProcess shrinks the file, which then grows again.
func TestVacuumByAnotherProcess(t *testing.T) {
	is := is.New(t)
	path := filepath.Join(t.TempDir(), "licenses.db")
	st := openAt(t, path)
	size := func() int64 {
		info, err := os.Stat(path)
		is.NoErr(err)
		return info.Size()
	}
	c, err := connect(writerDSN(path, Options{}))
	is.NoErr(err)
	defer c.close()
	for round := range 3 {
		fillLog(t, st)
		st.writer.writeBack()
		is.NoErr(st.Update(t.Context(), func(tx store.Tx) error {
			entries, err := tx.Entries(t.Context(), store.EntryQuery{Kind: "k"})
			for _, e := range entries {
				err = errors.Join(err, tx.DeleteEntries(t.Context(), "k", e.Key))
			}
			return err
		}))
		before := size()
		is.NoErr(c.script("VACUUM; PRAGMA wal_checkpoint(TRUNCATE)"))
		require.Less(t, size(), before)
		is.NoErr(st.Update(t.Context(), func(tx store.Tx) error { return add(tx, string(rune('a'+round))) }))
		fillLog(t, st)
		is.NoErr(st.writer.guard.check())
	}
	is.Equal(ids(t, st), "a b c")
	is.NoErr(st.Check(t.Context()))
}
