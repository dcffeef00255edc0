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

// TestREADMEMount runs the code of the README that mounts the service on
// PostgreSQL. TestMove runs the one that moves a register.
func TestREADMEMount(t *testing.T) {
	is := is.New(t)
	t.Setenv("DATABASE_URL", sharedDSN(t))
	mux := http.NewServeMux()
	is.NoErr(readmeMount(t.Context(), mux, newSchema(t, open(t, "pgx", sharedDSN(t))), func() {
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/licensing/ready", nil))
		is.Equal(w.Code, http.StatusOK)
	}))
}

func readmeMount(ctx context.Context, mux *http.ServeMux, schema string, use func()) error {
	db, err := sql.Open("pgx", os.Getenv("DATABASE_URL"))
	if err != nil {
		return err
	}
	defer db.Close()
	db.SetMaxOpenConns(20) // what the server can spare for this process
	db.SetMaxIdleConns(20)
	st, err := postgres.New(ctx, db, postgres.Options{Schema: schema})
	if err != nil {
		return err
	}
	h := licensing.NewHandler(st, licensing.Options{})

	mux.Handle("/licensing/", http.StripPrefix("/licensing", h))
	use()
	return nil
}

func readmeMove(ctx context.Context, from, to store.Store, name string) error {
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
	err = store.Import(ctx, to, archive)

	return err
}
