package postgres_test

import (
	"context"
	"database/sql"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/postgres"
)

// TestGuideMount runs the code of the guide to stores that mounts the service
// on PostgreSQL. TestMove runs the code that moves a store.
func TestGuideMount(t *testing.T) {
	is := is.New(t)
	db := open(t, "pgx", sharedDSN(t))
	mux := http.NewServeMux()
	is.NoErr(mount(t.Context(), mux, db, newSchema(t, db)))
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/licensing/ready", nil))
	is.Equal(w.Code, http.StatusOK)
}

func mount(ctx context.Context, mux *http.ServeMux, db *sql.DB, schema string) error {
	db.SetMaxOpenConns(20) // what the server can spare for this process
	db.SetMaxIdleConns(20)
	st, err := postgres.New(ctx, db, postgres.Options{Schema: schema})
	if err != nil {
		return err
	}
	h := licensing.NewHandler(st, licensing.Options{})
	mux.Handle("/licensing/", http.StripPrefix("/licensing", h))
	return nil
}

// move copies from one store to another, by way of an archive in a new file.
func move(ctx context.Context, from, to store.Store, name string) error {
	archive, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600) // it holds keys and digests
	if err != nil {
		return err
	}
	defer archive.Close()
	err = from.View(ctx, func(r store.Reader) error { return store.Export(ctx, r, archive) })
	if err != nil {
		return err
	}
	if _, err := archive.Seek(0, io.SeekStart); err != nil {
		return err
	}
	return store.Import(ctx, to, archive)
}
