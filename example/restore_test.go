package main

import (
	"path/filepath"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store/sqlite"
)

// A restored service has what was there at the time of the backup, and nothing
// later; a program that had read the feed further notices.
func TestRestoredService(t *testing.T) {
	is := is.New(t)
	folder := t.TempDir()
	st, err := sqlite.Open(filepath.Join(folder, "licenses.db"))
	is.NoErr(err)
	defer st.Close()
	s := licensing.NewHandler(st, licensing.Options{}).Service()
	before, err := sell(t.Context(), licensing.NewHandler(st, licensing.Options{}), "cus_1")
	is.NoErr(err)
	early, err := s.Events(t.Context(), license.EventsParams{})
	is.NoErr(err)
	is.NoErr(backup(t.Context(), st, folder))
	after, err := sell(t.Context(), licensing.NewHandler(st, licensing.Options{}), "cus_2")
	is.NoErr(err)
	late, err := s.Events(t.Context(), license.EventsParams{})
	is.NoErr(err)

	copies, err := filepath.Glob(filepath.Join(folder, "licenses-*.db"))
	is.NoErr(err)
	is.Equal(len(copies), 1)
	is.NoErr(sqlite.Restore(t.Context(), copies[0], filepath.Join(folder, "restored.db")))
	restored, err := sqlite.Open(filepath.Join(folder, "restored.db"))
	is.NoErr(err)
	defer restored.Close()
	h := licensing.NewHandler(restored, licensing.Options{})
	got, err := h.Service().Get(t.Context(), before.ID)
	is.NoErr(err)
	is.Equal(got, before)
	_, err = h.Service().Get(t.Context(), after.ID)
	require.ErrorIs(t, err, license.ErrNotFound)

	// New events take the numbers of the lost ones.
	for range 2 {
		_, err = sell(t.Context(), h, "cus_3")
		is.NoErr(err)
	}
	page, err := h.Service().Events(t.Context(), license.EventsParams{After: early.NextCursor})
	is.NoErr(err)
	is.Equal(len(page.Data), 2)
	_, err = h.Service().Events(t.Context(), license.EventsParams{After: late.NextCursor})
	require.ErrorIs(t, err, license.ErrCursorGone)
}
