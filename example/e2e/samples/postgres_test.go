//go:build unix

package samples

import (
	"database/sql"
	"errors"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/example/e2e/internal/pgserver"
	"github.com/seed-d8a106b4/licensekit/store/postgres"
)

// TestSamplesOnPostgres is TestSamples with a service on PostgreSQL.
func TestSamplesOnPostgres(t *testing.T) {
	is := is.New(t)
	server, err := pgserver.New()
	if errors.Is(err, pgserver.ErrNotInstalled) {
		t.Skip(err)
	}
	is.NoErr(err)
	defer server.Remove()
	is.NoErr(server.Start())
	db, err := sql.Open("pgx", server.DSN())
	is.NoErr(err)
	defer db.Close()
	st, err := postgres.New(t.Context(), db, postgres.Options{})
	is.NoErr(err)
	defer st.Close()
	testSamples(t, st)
}
