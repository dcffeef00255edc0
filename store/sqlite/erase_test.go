package sqlite_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/sqlite"
)

// TestErasedCustomerIsNotInTheFile erases some of many customers while the service
// runs, and looks for them in the file and its log.
func TestErasedCustomerIsNotInTheFile(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	ctx := t.Context()
	path := filepath.Join(t.TempDir(), "licenses.db")
	st, err := sqlite.Open(path)
	is.NoErr(err)
	defer st.Close()
	h := licensing.NewHandler(st, licensing.Options{Logger: slog.New(slog.DiscardHandler)})
	running, stop := context.WithCancel(ctx)
	var work sync.WaitGroup
	work.Go(func() { h.Run(running) })
	defer work.Wait()
	defer stop()
	for i := range 600 {
		p := api.CreateLicenseParams{Name: fmt.Sprintf("Kept %d-%s", i, strings.Repeat("x", i%200)), ProductID: "p", CustomerID: fmt.Sprintf("kept-%d", i%97)}
		if i%20 == 0 {
			p.Name, p.CustomerID = "Gonename-"+strings.Repeat("y", i%150), fmt.Sprintf("gonecustomer-%d", i%3)
		}
		l, err := h.Service().Create(ctx, p)
		is.NoErr(err)
		if i%7 == 0 { // leaves an earlier version in the file
			name := "Changed-" + strings.Repeat("z", i%120)
			_, err = h.Service().Update(ctx, api.UpdateLicenseParams{ID: l.ID, Name: &name})
			is.NoErr(err)
		}
		if i%20 == 0 {
			_, err = h.Service().Activate(ctx, api.ActivateKeyParams{Key: l.Key, Fingerprint: "goneprint"})
			is.NoErr(err)
		}
	}
	// count returns how often the word is in the file and the log.
	count := func(word string) (n int) {
		for _, suffix := range []string{"", "-wal"} {
			data, err := os.ReadFile(path + suffix)
			is.NoErr(err)
			n += bytes.Count(bytes.ToLower(data), []byte(word))
		}
		return n
	}
	words := []string{"gonecustomer", "gonename", "goneprint"}
	is.NoErr(st.Checkpoint(ctx))
	for _, word := range words {
		require.Greater(t, count(word), 0)
	}
	for n := range 3 {
		_, err := h.Service().EraseCustomer(ctx, fmt.Sprintf("gonecustomer-%d", n))
		is.NoErr(err)
	}
	stop() // so that no background step writes to the log after the checkpoint
	work.Wait()
	is.NoErr(st.Checkpoint(ctx))
	for _, word := range words {
		if n := count(word); n > 0 {
			t.Errorf("%s is still there %d times", word, n)
		}
	}
	require.Greater(t, count("kept"), 0)
	info, err := os.Stat(path + "-wal")
	is.NoErr(err)
	is.Equal(info.Size(), int64(0))
}

// TestCheckpointWaitsForViews that need the log.
func TestCheckpointWaitsForViews(t *testing.T) {
	is := is.New(t)
	st, err := sqlite.OpenWith(filepath.Join(t.TempDir(), "licenses.db"), sqlite.Options{BusyTimeout: 100 * time.Millisecond})
	is.NoErr(err)
	defer st.Close()
	is.NoErr(addLicense(t, st, "a"))
	is.NoErr(st.View(t.Context(), func(store.Reader) error {
		is.NoErr(addLicense(t, st, "b"))
		require.ErrorIs(t, st.Checkpoint(t.Context()), store.ErrUnavailable)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		require.ErrorIs(t, st.Checkpoint(ctx), context.Canceled)
		return addLicense(t, st, "c") // other updates do not wait
	}))
	is.NoErr(st.Checkpoint(t.Context()))
	is.NoErr(st.Close())
	require.ErrorIs(t, st.Checkpoint(t.Context()), store.ErrUnavailable)
}
