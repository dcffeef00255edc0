package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"

	lib "modernc.org/sqlite/lib"

	"github.com/seed-d8a106b4/licensekit/store"
)

// Backup writes a consistent copy of the store to a new file at path, which only
// its owner can read. When Backup returns nil, the copy
// is complete and on disk; otherwise there is no file at path. The copy is a
// database that [Open] opens and that [Restore] puts in place of a lost one.
//
// Reads and updates continue meanwhile. The log beside the file grows by what
// they commit, and the copy needs as much room as the file. Backup returns an
// error that wraps [os.ErrExist] if there is something at path.
func (s *Store) Backup(ctx context.Context, path string) error {
	return wrap(s.backup(ctx, path), "backup to %s", path)
}

func (s *Store) backup(ctx context.Context, path string) error {
	path, err := cleanPath(path)
	if err != nil {
		return err
	}
	return place(path, func(part *os.File) error {
		return s.maintain(ctx, func(c *conn) error {
			// The engine writes into an empty file, with the mode it has.
			_, err := c.raw.ExecContext(ctx, "VACUUM INTO ?", c.bind([]any{part.Name()}))
			return err
		})
	})
}

// Restore copies a backup to a new file at path, which only its owner can read,
// after it has checked that the backup is an undamaged database of this package.
// Stop all processes that use the old file, and move it away together with its
// -wal and -shm: Restore returns an error that wraps [os.ErrExist] if one of the
// three is there, because a log beside the wrong file destroys it.
// Restore does not change the backup, which may be on a read-only file system. It
// must be a file that [Store.Backup] wrote, or a copy of a store that was closed.
//
// The restored store has what was stored at the time of the backup. What changed
// later is lost: licenses, events, tokens, revocations and stored responses. Programs
// that read the feed of events beyond that point get [api.ErrCursorGone].
//
// [api.ErrCursorGone]: https://pkg.go.dev/github.com/seed-d8a106b4/licensekit/licensing/api#ErrCursorGone
func Restore(ctx context.Context, backup, path string) error {
	return wrap(restore(ctx, backup, path), "restore %s from %s", path, backup)
}

func restore(ctx context.Context, backup, path string) error {
	path, err := cleanPath(path)
	if err != nil {
		return err
	}
	if err := noLog(path); err != nil {
		return err
	}
	from, err := os.Open(backup)
	if err != nil {
		return err
	}
	defer from.Close()
	return place(path, func(part *os.File) error {
		if _, err := io.Copy(part, from); err != nil {
			return err
		}
		c, err := connect(identityDSN(part.Name()))
		if err != nil {
			return err
		}
		defer c.close()
		switch n, err := version(c); {
		case primary(code(err)) == lib.SQLITE_CORRUPT:
			return sentinel(err)
		case err != nil:
			return err
		case n == 0:
			return errNotSQLite
		}
		return check(ctx, c)
	})
}

// noLog returns an error that wraps [os.ErrExist] if there is a log, or the index
// of one, beside the file at path.
func noLog(path string) error {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	for _, companion := range []string{path + "-wal", path + "-shm"} {
		if _, err := os.Lstat(companion); !errors.Is(err, os.ErrNotExist) {
			return errors.Join(err, fmt.Errorf("%s: %w; it belongs to another database, so move it away, or put that database back", companion, os.ErrExist))
		}
	}
	return nil
}

// Check reads the whole file and returns an error that wraps [ErrDamaged] and
// describes the damage, if the structure of the file is damaged. It cannot find
// a changed character inside a record, because the file has no checksums. Call it
// after Open where a file may have been damaged, or on a schedule. Reads and
// updates continue meanwhile.
func (s *Store) Check(ctx context.Context) error {
	return wrap(s.maintain(ctx, func(c *conn) error { return check(ctx, c) }), "check %s", s.path)
}

// ErrDamaged is the error of [Store.Check], [Restore] and, with [Options.Check],
// [Open] for a damaged file, and of calls that read a damaged page.
var ErrDamaged = store.ErrDamaged

// check returns what is wrong with the file that c has open.
func check(ctx context.Context, c *conn) error {
	var found []error
	err := c.rows(ctx, ctx, "PRAGMA integrity_check(10)", nil, func(r *row) {
		if line := r.text(); line != "ok" {
			found = append(found, errors.New(line))
		}
	})
	if primary(code(err)) == lib.SQLITE_CORRUPT {
		found, err = append(found, err), nil
	}
	if len(found) > 0 {
		return fmt.Errorf("%w: %w", ErrDamaged, errors.Join(found...))
	}
	return err
}

// maintain calls fn with a connection of its own, since the ones for reads may
// not write a copy either.
func (s *Store) maintain(ctx context.Context, fn func(*conn) error) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.leave()
	c, err := connect(s.views.dsn)
	if err != nil {
		return sentinel(err)
	}
	defer c.close()
	if err := s.views.guard.check(); err != nil { // c may have opened another file
		return err
	}
	if err := c.script("PRAGMA query_only = 0"); err != nil {
		return sentinel(err)
	}
	err = fn(c)
	if ended := ctx.Err(); err != nil && ended != nil {
		return ended
	}
	return sentinel(err)
}

// place makes a new file at path with the content that write gives it. The
// content is on disk before the file is at path.
func place(path string, write func(part *os.File) error) (err error) {
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		return errors.Join(err, fmt.Errorf("%w; move it away, or choose another path", os.ErrExist))
	}
	part, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".part-*") // for its owner alone
	if err != nil {
		return err
	}
	defer os.Remove(part.Name())
	defer part.Close()
	if err := write(part); err != nil {
		return err
	}
	if err := errors.Join(part.Sync(), part.Close()); err != nil {
		return err
	}
	if err := os.Rename(part.Name(), path); err != nil {
		return err
	}
	return syncFolder(filepath.Dir(path))
}

// syncFolder makes the names of the files in a folder durable.
func syncFolder(folder string) error {
	if runtime.GOOS == "windows" { // which does it by itself
		return nil
	}
	f, err := os.Open(folder)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
