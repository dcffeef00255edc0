package main

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/store/sqlite"
)

// The guides to production and to stores refer to the functions below.

// masterKey reads 32 random bytes in base64 from the environment.
func masterKey() ([]byte, error) {
	key, err := base64.StdEncoding.DecodeString(os.Getenv("LICENSING_MASTER_KEY"))
	if err != nil {
		return nil, errors.New("LICENSING_MASTER_KEY is not base64") // err would show a part of it
	}
	return key, nil
}

// mountTenants serves each tenant at /tenants/NAME/licensing/ from a file of
// its own, and does the background work of all of them until ctx ends. The
// caller then calls closeAll, after an error too. The names are from your
// configuration, never from a request.
func mountTenants(ctx context.Context, mux *http.ServeMux, folder string, names []string) (closeAll func() error, err error) {
	var work sync.WaitGroup
	var stores []*sqlite.Store
	closeAll = func() error {
		work.Wait()
		var errs []error
		for _, st := range stores {
			errs = append(errs, st.Close())
		}
		return errors.Join(errs...)
	}
	for _, name := range names {
		st, err := sqlite.Open(filepath.Join(folder, name+".db"))
		if err != nil {
			return closeAll, fmt.Errorf("tenant %s: %w", name, err)
		}
		stores = append(stores, st)
		h := licensing.NewHandler(st, licensing.Options{})
		work.Go(func() { h.Run(ctx) })
		prefix := "/tenants/" + name + "/licensing"
		mux.Handle(prefix+"/", http.StripPrefix(prefix, h))
	}
	return closeAll, nil
}

// TestMasterKeyOfTheGuide reads a good key, and gets errors that name the fix.
func TestMasterKeyOfTheGuide(t *testing.T) {
	is := is.New(t)
	t.Setenv("LICENSING_MASTER_KEY", base64.StdEncoding.EncodeToString([]byte(strings.Repeat("k", 32))))
	key, err := masterKey()
	is.NoErr(err)
	is.NoErr(licensing.Options{MasterKey: key}.Validate())

	t.Setenv("LICENSING_MASTER_KEY", "")
	key, err = masterKey()
	is.NoErr(err)
	err = licensing.Options{MasterKey: key}.Validate()
	is.True(err != nil)
	require.Contains(t, err.Error(), "environment variable")

	t.Setenv("LICENSING_MASTER_KEY", "not-base64!")
	_, err = masterKey()
	is.True(err != nil)
	require.NotContains(t, err.Error(), "not-base64!")
}

// TestTenantsOfTheGuide shows that a token of one tenant opens no other.
func TestTenantsOfTheGuide(t *testing.T) {
	is := is.New(t)
	ctx, stop := context.WithCancel(t.Context())
	mux := http.NewServeMux()
	folder := t.TempDir()
	closeAll, err := mountTenants(ctx, mux, folder, []string{"acme", "globex"})
	is.NoErr(err)
	defer func() { stop(); is.NoErr(closeAll()) }()

	st, err := sqlite.Open(filepath.Join(folder, "acme.db")) // as another process would
	is.NoErr(err)
	defer st.Close()
	id, secret, err := createClient(ctx, licensing.NewHandler(st, licensing.Options{}))
	is.NoErr(err)
	for tenant, status := range map[string]int{"acme": http.StatusOK, "globex": http.StatusUnauthorized, "initech": http.StatusNotFound} {
		r := httptest.NewRequest("GET", "/tenants/"+tenant+"/licensing/oauth/token", nil)
		r.SetBasicAuth(id, secret)
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, r)
		is.Equal(w.Code, status) // for each tenant
	}
}

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
	early, err := s.Events(t.Context(), api.ListEventsParams{})
	is.NoErr(err)
	is.NoErr(backup(t.Context(), st, folder))
	after, err := sell(t.Context(), licensing.NewHandler(st, licensing.Options{}), "cus_2")
	is.NoErr(err)
	late, err := s.Events(t.Context(), api.ListEventsParams{})
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
	require.ErrorIs(t, err, api.ErrNotFound)

	// New events take the numbers of the lost ones.
	for range 2 {
		_, err = sell(t.Context(), h, "cus_3")
		is.NoErr(err)
	}
	page, err := h.Service().Events(t.Context(), api.ListEventsParams{After: early.NextCursor})
	is.NoErr(err)
	is.Equal(len(page.Data), 2)
	_, err = h.Service().Events(t.Context(), api.ListEventsParams{After: late.NextCursor})
	require.ErrorIs(t, err, api.ErrCursorGone)
}
