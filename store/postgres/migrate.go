package postgres

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"strings"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// migrations returns the text of each migration, in order. The n-th file is named
// migrations/n_….sql, with n in four digits. It is plain SQL, its tables are in
// the first schema of search_path, and it never changes after a release.
//
// After a migration that only adds tables, indexes and columns that may be missing
// from an INSERT, earlier versions can still use the tables. Any other sets usable_from
// to its own number, and renames the tables that a process of an earlier version which
// still runs must not use. A function that changes gets a new name; the migration keeps
// the one of the previous minor version, and drops older ones.
func migrations(files fs.FS) ([]string, error) {
	names, err := fs.Glob(files, "migrations/*.sql") // sorted
	if err != nil {
		return nil, err
	}
	var texts []string
	for i, name := range names {
		if !strings.HasPrefix(name, fmt.Sprintf("migrations/%04d_", i+1)) {
			return nil, fmt.Errorf("postgres: %s is not migration %04d", name, i+1)
		}
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}
		texts = append(texts, string(text))
	}
	return texts, nil
}

// Migrate creates the schema of opts and its tables, or upgrades the tables to
// the version of this package. If they are up to date, it changes nothing. It
// runs in one transaction under the schema's lock: any number of processes may
// call it concurrently, and Updates wait until it ends.
//
// [New] does the same. Migrate is for hosts that migrate with another role than
// the one that serves. The serving role then needs USAGE on the schema, EXECUTE on
// its functions, which PUBLIC has by default, and SELECT, INSERT, UPDATE and DELETE on its
// tables. Both return an error if a newer version of this package has upgraded the tables
// in a way that this one cannot use.
func Migrate(ctx context.Context, db *sql.DB, opts Options) error {
	_, err := prepare(ctx, db, opts)
	return err
}

// prepare returns the schema of opts, whose tables are up to date.
func prepare(ctx context.Context, db *sql.DB, opts Options) (schema, error) {
	s, err := newSchema(opts.Schema)
	if err == nil && db == nil {
		err = errors.New("postgres: the sql.DB is nil; check the error of sql.Open")
	}
	if err != nil {
		return s, err
	}
	texts, err := migrations(migrationFiles)
	if err != nil {
		return s, err
	}
	var version int
	err = retry(ctx, func() (err error) {
		version, err = s.version(ctx, db, len(texts))
		return err
	})
	if err == nil && version < len(texts) {
		err = s.migrate(ctx, db, texts)
	}
	return s, about(err, "schema %s", s.quoted)
}

// version returns the version of the tables, 0 if there are none, or an error if
// a program of version own cannot use them.
func (s schema) version(ctx context.Context, q interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}, own int) (version int, err error) {
	var usableFrom int
	var encoding string
	var exists bool
	// Query the catalog itself: to_regclass may use what the connection cached
	// before it waited for the lock.
	err = q.QueryRowContext(ctx, `SELECT current_setting('server_encoding'), EXISTS (
		SELECT FROM pg_catalog.pg_tables WHERE schemaname = $1 AND tablename = 'licensing_schema')`,
		s.name).Scan(&encoding, &exists)
	if err == nil && exists {
		err = q.QueryRowContext(ctx, s.in(`SELECT version, usable_from FROM licensing_schema`)).Scan(&version, &usableFrom)
	}
	switch {
	case ctx.Err() != nil:
		return 0, ctx.Err()
	case err != nil:
		return 0, explain(err)
	case encoding != "UTF8":
		return 0, fmt.Errorf("the database is encoded in %s; create one with ENCODING 'UTF8'", encoding)
	case usableFrom > own:
		return 0, fmt.Errorf("the tables have version %d, which programs can use from version %d on; this program has version %d; update it",
			version, usableFrom, own)
	}
	return version, nil
}

// migrate runs those of the migrations that are missing.
func (s schema) migrate(ctx context.Context, db *sql.DB, texts []string) error {
	tx, err := db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelReadCommitted})
	if err != nil {
		return explain(err)
	}
	defer tx.Rollback()
	exec := func(stmt string) {
		if err == nil {
			_, err = tx.ExecContext(ctx, stmt)
			err = explain(err)
		}
	}

	exec(fmt.Sprintf(`SELECT pg_advisory_xact_lock(%d)`, s.lock))
	if err != nil {
		return err
	}
	version, err := s.version(ctx, tx, len(texts))
	if err != nil {
		return err
	}
	if version > 0 {
		exec(s.in(lock))
	}
	var missing bool
	if err == nil {
		err = explain(tx.QueryRowContext(ctx, `SELECT NOT EXISTS (
			SELECT FROM pg_catalog.pg_namespace WHERE nspname = $1)`, s.name).Scan(&missing))
	}
	if missing {
		exec(`CREATE SCHEMA ` + s.quoted)
	}
	exec(`SET LOCAL search_path = ` + s.quoted)
	for n := version; n < len(texts); n++ {
		exec(texts[n])
		exec(fmt.Sprintf(`UPDATE licensing_schema SET version = %d`, n+1))
	}
	if err != nil {
		return err
	}
	return explain(tx.Commit())
}
