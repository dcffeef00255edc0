package main

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/seed-d8a106b4/licensekit/example/internal/admin"
	"github.com/seed-d8a106b4/licensekit/example/internal/settings"
	"github.com/seed-d8a106b4/licensekit/store/postgres"
	"github.com/seed-d8a106b4/licensekit/store/sqlite"
)

// connections is how many a process uses of the 100 that a server has unless told
// otherwise.
const connections = 20

// openServed opens a store to serve, and creates it if it is missing.
func openServed(ctx context.Context, store string) (*admin.Database, error) {
	if settings.IsPostgres(store) {
		return openPostgres(ctx, store, true)
	}
	st, err := sqlite.Open(store)
	if err != nil {
		return nil, err
	}
	return &admin.Database{Store: st, Close: st.Close}, nil
}

// openExisting is [admin.Open] for both kinds of databases.
func openExisting(ctx context.Context, store string, create bool) (*admin.Database, error) {
	if settings.IsPostgres(store) {
		return openPostgres(ctx, store, create)
	}
	return admin.OpenFile(ctx, store, create)
}

// openPostgres opens the schema that search_path names in the URL of a database.
func openPostgres(ctx context.Context, url string, create bool) (*admin.Database, error) {
	config, err := pgx.ParseConfig(url)
	if err != nil { // which repeats the URL
		return nil, &settings.Error{Text: "--store (LICENSEKIT_STORE): not the URL of a PostgreSQL database, such as postgres://USER@HOST:5432/DATABASE"}
	}
	schema := cmp.Or(config.RuntimeParams["search_path"], "public")
	if schema == "$user" || strings.ContainsAny(schema, ", \t\"") || strings.ToLower(schema) != schema || strings.Contains(config.RuntimeParams["options"], "search_path") {
		// PostgreSQL reads these as a list, without quotes and in lower case; the store takes one name unchanged.
		return nil, &settings.Error{Text: "--store (LICENSEKIT_STORE): the URL must name one schema, in lower case and without $user, quotes and options, such as ?search_path=licensekit; omit search_path for the schema public"}
	}
	db := stdlib.OpenDB(*config)
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
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
