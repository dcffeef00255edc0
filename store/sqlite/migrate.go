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

// applicationID marks a file as ours, in its header: "lkit" in ASCII.
const applicationID = 0x6c6b6974

// migrations are the steps from an empty file to the present schema, in order
// of their names. A file's user_version is the number of steps it has had. A
// step that has been released never changes.
//
//go:embed migrations/*.sql
var migrations embed.FS

// steps returns the text of each migration.
func steps() []string {
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

// claim makes the file at path if there is none, and otherwise looks whether
// it is ours. It changes nothing in a file that is there.
func claim(path string) error {
	info, err := makeFile(path)
	switch {
	case err != nil:
		return err
	case info.IsDir():
		return errors.New("it is a folder; name a file in it")
	case info.Size() == 0:
		return nil
	case info.Size() == 1: // which the engine takes for an empty file
		return errNotSQLite
	}
	c, err := connect(identityDSN(path))
	if err != nil {
		return err
	}
	defer c.close()
	_, err = version(c)
	if primary(code(err)) == lib.SQLITE_CORRUPT {
		// A log that could not be written back in full, for want of room,
		// leaves a file that is whole only together with its log.
		if log, statErr := os.Stat(path + "-wal"); statErr == nil && log.Size() > 0 {
			return nil
		}
	}
	return err
}

// making is held while a file is made. Closing a file drops all locks that the
// process has on it (a rule of POSIX), so it must be over before any Store of
// this process opens the file.
var making sync.Mutex

// makeFile makes the file at path if there is none, readable by its owner
// alone. SQLite gives its companions the same mode.
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

var errNotSQLite = errors.New("it is not a SQLite file, and was left as it is; name another")

// version returns how many migrations the file has had, or an error if it is
// not ours.
func version(c *conn) (int, error) {
	id, err := c.integer("PRAGMA application_id")
	if primary(code(err)) == lib.SQLITE_NOTADB {
		return 0, fmt.Errorf("%w: %w", errNotSQLite, err)
	} else if err != nil {
		return 0, err
	}
	n, err := c.integer("PRAGMA user_version")
	if err != nil {
		return 0, err
	}
	if id == applicationID {
		if known := int64(len(steps())); n > known {
			return 0, fmt.Errorf("a newer version of this program has written it (schema %d; this one knows up to %d), "+
				"and it was left as it is; install the newer version, or restore a backup", n, known)
		}
		return int(n), nil
	}
	tables, err := c.integer("SELECT count(*) FROM sqlite_schema")
	if err != nil {
		return 0, err
	}
	if id != 0 || n != 0 || tables != 0 {
		return 0, fmt.Errorf("it is a SQLite file of another program (application id %#x, %d tables and indexes), "+
			"and was left as it is; name another", id, tables)
	}
	return 0, nil
}

// connectWriter opens the connection for writing and brings the schema up to
// date. Other processes may be doing the same.
func connectWriter(path string, opts Options) (*conn, error) {
	deadline := time.Now().Add(opts.BusyTimeout)
	var c *conn
	err := patiently(context.Background(), deadline, func() (err error) {
		c, err = connect(writerDSN(path, opts))
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := migrate(c, deadline); err != nil {
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
		return fmt.Errorf("its file system cannot keep a write-ahead log (journal mode %q); put it on a local disk", mode)
	}
	steps := steps()
	for {
		done, err := version(c)
		if err != nil || done == len(steps) {
			return err
		}
		if err := begin(context.Background(), c, deadline); err != nil {
			return err
		}
		// Another process may have come first.
		if done, err = version(c); err == nil && done < len(steps) {
			err = c.script(fmt.Sprintf("%s; PRAGMA application_id = %d; PRAGMA user_version = %d",
				steps[done], applicationID, done+1))
		}
		if err == nil {
			err = c.script("COMMIT")
		}
		if err != nil {
			c.script("ROLLBACK") // an error, too, if the engine has done so
			return err
		}
	}
}
