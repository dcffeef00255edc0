package sqlite

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"time"

	lib "modernc.org/sqlite/lib"
)

// applicationID in the header identifies a file of this package: "lkit" in ASCII.
const applicationID = 0x6c6b6974

// migrations are the steps from an empty file to the current schema, in order of
// their names. A released step never changes.
//
// After a step that only adds tables, indexes and columns that may be missing from
// an INSERT, earlier versions can still use the file. Any other step sets usable_from
// to its own number, and renames the tables that a process of an earlier version which
// still runs must not use.
//
//go:embed migrations/*.sql
var migrations embed.FS

// steps has the text of each migration. Their number is the version of the schema
// that this program has.
var steps = readSteps()

func readSteps() []string {
	names, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil {
		panic(err) // the pattern is ours
	}
	texts := make([]string, len(names))
	for i, name := range names {
		text, err := migrations.ReadFile(name)
		if err != nil {
			panic(err) // embedded
		}
		texts[i] = string(text)
	}
	return texts
}

// claim creates the file at path if there is none, and otherwise checks whether
// it is a file of this package. It does not change an existing file.
//
// It refuses a file whose log must be that of another database, since the engine
// would write it into the file or delete it. The engine writes to the file that
// it has a log before it makes one, and not to a backup: claim looks for the log
// first, because another process may be opening the file.
func claim(path string) error {
	foreign := noLog(path)
	if foreign != nil {
		if info, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
			return foreign
		} else if err == nil && info.Size() == 0 {
			return errEmptyBesideLog
		}
	}
	info, err := makeFile(path)
	switch {
	case err != nil:
		return err
	case info.IsDir():
		return errors.New("this is a folder; use the path of a file")
	case info.Size() == 0:
		return nil
	case info.Size() == 1: // the engine would accept it as an empty file
		return errNotSQLite
	}
	c, err := connect(identityDSN(path))
	if err != nil {
		return err
	}
	defer c.close()
	_, err = version(c)
	if primary(code(err)) == lib.SQLITE_CORRUPT {
		// If the disk was full while the log was written back, the file is
		// complete only together with its log.
		if log, statErr := os.Stat(path + "-wal"); statErr == nil && log.Size() > 0 {
			return nil
		}
	}
	if err != nil || foreign == nil {
		return err
	}
	logged, err := c.integer("SELECT count(*) FROM sqlite_dbpage WHERE pgno = 1 AND substr(data, 19, 2) = x'0202'")
	if err == nil && logged == 0 {
		err = foreign
	}
	return err
}

// errEmptyBesideLog is the error for an empty file with a log: SQLite never leaves
// one.
var errEmptyBesideLog = fmt.Errorf("the file is empty, but there is a log beside it: %w; if the file was emptied by mistake, "+
	"move it away together with its -wal and -shm, and restore a backup; otherwise move the -wal and -shm away", os.ErrExist)

// making is locked while a file is created. Closing a file drops all locks that
// the process has on it (a rule of POSIX), so this must end before a Store of this
// process opens the file.
var making sync.Mutex

// makeFile creates the file at path if there is none, with permissions for its
// owner only. SQLite gives the log the same mode.
func makeFile(path string) (os.FileInfo, error) {
	making.Lock()
	defer making.Unlock()
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		err = f.Close()
	}
	if err != nil && !errors.Is(err, os.ErrExist) {
		return nil, err
	}
	return os.Stat(path)
}

var errNotSQLite = errors.New("this is not a SQLite file; it was not changed; use another path")

// fileState reads what identifies a file. It is one statement, because another process
// may be creating the tables.
const fileState = `SELECT (SELECT application_id FROM pragma_application_id), (SELECT user_version FROM pragma_user_version),
	(SELECT count(*) FROM sqlite_schema), (SELECT count(*) FROM sqlite_schema WHERE name = 'schema')`

// version returns the version of the file's schema, which is how many migrations it
// has had, or an error if this program cannot use the file.
func version(c *conn) (int, error) {
	var id, user, tables, schemas int64
	err := c.query(context.Background(), fileState, nil, func(r *row) {
		id, user, tables, schemas = r.integer(), r.integer(), r.integer(), r.integer()
	})
	if primary(code(err)) == lib.SQLITE_NOTADB {
		return 0, fmt.Errorf("%w: %w", errNotSQLite, err)
	} else if err != nil {
		return 0, err
	}
	if id == applicationID && schemas == 1 {
		var n, usableFrom int64
		err := c.query(context.Background(), `SELECT version, usable_from FROM schema`, nil, func(r *row) { n, usableFrom = r.integer(), r.integer() })
		if known := int64(len(steps)); err == nil && usableFrom > known {
			err = fmt.Errorf("a newer version of this program has written this file (schema %d, usable from %d on; this version has %d); "+
				"it was not changed; install the newer version or restore a backup", n, usableFrom, known)
		}
		return int(n), err
	}
	if id != 0 || user != 0 || tables != 0 {
		return 0, fmt.Errorf("this is a SQLite file of another program (application id %#x, %d tables and indexes); "+
			"it was not changed; use another path", id, tables)
	}
	return 0, nil
}

// connectWriter opens the connection for writing and migrates the schema. Other
// processes may do the same concurrently.
func connectWriter(path string, opts Options) (*conn, error) {
	deadline := time.Now().Add(opts.BusyTimeout)
	var c *conn
	_, err := patiently(context.Background(), deadline, func() (err error) {
		c, err = connect(writerDSN(path, opts))
		return err
	})
	if err != nil {
		return nil, err
	}
	if opts.Check {
		err = check(context.Background(), c)
	}
	if err == nil {
		err = migrate(c, deadline)
	}
	if err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

// migrate runs the migrations that the file has not had, each in a transaction.
func migrate(c *conn, deadline time.Time) error {
	var mode string
	err := c.query(context.Background(), "PRAGMA journal_mode", nil, func(r *row) { mode = r.text() })
	if err != nil {
		return err
	}
	if mode != "wal" {
		return fmt.Errorf("the file system does not support a write-ahead log (journal mode %q); put the file on a local disk", mode)
	}
	if done, err := version(c); err != nil || done >= len(steps) {
		return err
	}
	// A migration may sort a whole table.
	if err := c.script("PRAGMA temp_store = file"); err != nil {
		return err
	}
	for {
		done, err := version(c)
		if err != nil {
			return err
		}
		if done >= len(steps) {
			return c.script("PRAGMA temp_store = memory")
		}
		if _, err := begin(context.Background(), c, deadline); err != nil {
			return err
		}
		// Another process may have come first.
		if done, err = version(c); err == nil && done < len(steps) {
			err = c.script(fmt.Sprintf("%s; PRAGMA application_id = %d; UPDATE schema SET version = %d",
				steps[done], applicationID, done+1))
		}
		if err == nil {
			err = c.script("COMMIT")
		}
		if err != nil {
			c.script("ROLLBACK") // fails if the engine has already done so
			return err
		}
	}
}
