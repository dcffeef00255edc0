// Command onpostgres is the application of the example on PostgreSQL.
//
//	go -C example/e2e run ./onpostgres
//
// It runs on the database that -dsn names, or the variable
// LICENSING_POSTGRES_DSN; and if neither does, on a server of its own, which is
// gone when it ends. Any number of processes may run on one database: what one
// writes, all the others see. The one that was started last gets the events, and
// prints them. The other flags are those of the example.
package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"

	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/seed-d8a106b4/licensekit/example/e2e/internal/pgserver"
	"github.com/seed-d8a106b4/licensekit/example/internal/host"
	"github.com/seed-d8a106b4/licensekit/store/postgres"
)

const (
	command     = "go -C example/e2e run ./onpostgres"
	environment = "LICENSING_POSTGRES_DSN"
)

func main() {
	host.Main(host.Backend{
		Program: "onpostgres",
		Flag:    "dsn",
		Usage:   "keep the data in the database with this `DSN` (default: that of " + environment + ", or else a temporary server, removed at exit)",
		Open: func(ctx context.Context, dsn string) (*host.Database, error) {
			if dsn != "" {
				return openDatabase(ctx, dsn, "PostgreSQL, as -dsn says", command+" -dsn DSN")
			}
			if dsn = os.Getenv(environment); dsn != "" {
				return openDatabase(ctx, dsn, "PostgreSQL, as "+environment+" says", command)
			}
			return openTemporary(ctx)
		},
	})
}

// openDatabase opens a database that is there. A DSN may hold a password, so
// it is in none of the texts.
func openDatabase(ctx context.Context, dsn, about, again string) (*host.Database, error) {
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(20) // of the 100 that a server has unless told otherwise
	db.SetMaxIdleConns(20)
	st, err := postgres.New(ctx, db, postgres.Options{})
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	closeBoth := func() error { return errors.Join(st.Close(), db.Close()) }
	return &host.Database{Store: st, Close: closeBoth, About: about, Again: again}, nil
}

// openTemporary starts a server, which ends when the database is closed.
func openTemporary(ctx context.Context) (*host.Database, error) {
	server, err := pgserver.New()
	if errors.Is(err, pgserver.ErrNotInstalled) {
		return nil, fmt.Errorf("%w: name a database with -dsn or %s", err, environment)
	}
	if err != nil {
		return nil, err
	}
	if err := server.Start(); err != nil {
		return nil, errors.Join(err, server.Remove())
	}
	about := "PostgreSQL, temporary, removed at the end; another process joins it with\n" + command + " -dsn " + host.ShellQuote(server.DSN())
	db, err := openDatabase(ctx, server.DSN(), about, "")
	if err != nil {
		return nil, errors.Join(err, server.Remove())
	}
	db.Temporary = true
	closeDatabase := db.Close
	db.Close = func() error { return errors.Join(closeDatabase(), server.Remove()) }
	return db, nil
}
