// Command admin is ../../admin for SQLite and PostgreSQL. A database is the path
// of a SQLite file, or "postgres:" and a schema ("postgres:public"), in the
// database that the variable LICENSING_POSTGRES_DSN names: a DSN may hold a
// password, so it is in no argument. To move from a file to PostgreSQL:
//
//	go -C example/e2e run ./admin export /srv/licenses.db /srv/archive.ndjson
//	go -C example/e2e run ./admin import /srv/archive.ndjson postgres:public
package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strings"

	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/seed-d8a106b4/licensekit/example/internal/admin"
	"github.com/seed-d8a106b4/licensekit/store/postgres"
)

const environment = "LICENSING_POSTGRES_DSN"

func main() { admin.Main("admin", open) }

// open is [admin.Open] for both kinds of databases.
func open(ctx context.Context, name string, create bool) (*admin.Database, error) {
	schema, ok := strings.CutPrefix(name, "postgres:")
	if !ok {
		return admin.OpenFile(ctx, name, create)
	}
	dsn := os.Getenv(environment)
	if dsn == "" {
		return nil, errors.New(environment + " is not set; set it to the DSN of the database")
	}
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		return nil, err
	}
	if !create {
		if err := hasTables(ctx, db, schema); err != nil { // postgres.New would create them
			return nil, errors.Join(err, db.Close())
		}
	}
	st, err := postgres.New(ctx, db, postgres.Options{Schema: schema})
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &admin.Database{Store: st, Close: func() error { return errors.Join(st.Close(), db.Close()) }}, nil
}

// hasTables returns an error if a schema has no tables of the service.
func hasTables(ctx context.Context, db *sql.DB, schema string) error {
	var n int
	err := db.QueryRowContext(ctx, "SELECT count(*) FROM pg_tables WHERE schemaname = $1 AND tablename LIKE 'licensing\\_%'", schema).Scan(&n)
	if err == nil && n == 0 {
		err = fmt.Errorf("the schema %q has no tables of the service", schema)
	}
	return err
}
