package sqlite

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"time"

	lib "modernc.org/sqlite/lib"
)

// A content is what a guard knows about the content of the file. Nothing but a
// checkpoint, of this or another process, writes to the file while it is open. A
// checkpoint never makes the file shorter than its header says, apart from the
// time that it takes, and never puts an older header in place of a newer one.
type content struct {
	info    os.FileInfo // nil: unknown
	version uint64      // as header returns it
}

// The ways in which a file is overwritten.
var (
	errEmptied     = errors.New("the file was emptied while it was open")
	errTruncated   = errors.New("the file was truncated while it was open")
	errOverwritten = errors.New("another file was copied over it while it was open")
)

// patience is how long a file may seem truncated after another process has shrunk
// it: a checkpoint that makes it longer again writes the header first.
const patience = time.Second

// follow looks at the file if it has changed since the last call, and returns an
// error if something other than SQLite has written to it.
func (c *content) follow(path string, now os.FileInfo) error {
	var err error
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		if c.info != nil && now.Size() == c.info.Size() && now.ModTime().Equal(c.info.ModTime()) {
			return nil
		}
		if now.Size() == 0 {
			return errEmptied
		}
		var version uint64
		version, err = header(path)
		switch {
		case err == nil && version < c.version, primary(code(err)) == lib.SQLITE_NOTADB:
			return errOverwritten
		case err == nil:
			c.info, c.version = now, version
			return nil
		case primary(code(err)) != lib.SQLITE_CORRUPT, c.info == nil || now.Size() >= c.info.Size():
			return nil // unreadable now, or a checkpoint is making it longer: look again next time
		case !time.Now().Before(end):
			return errTruncated
		}
		if now, err = os.Stat(path); err != nil {
			return nil // the next check finds out
		}
	}
}

// header returns the change counter of the file and its number of pages as one
// number, which grows with each checkpoint that changes one of them: a file only
// shrinks in a VACUUM, which increases the counter. The error is SQLITE_CORRUPT if
// the file has fewer pages.
//
// It uses the engine, because a process that opens and closes the file by itself
// loses its locks on it.
func header(path string) (uint64, error) {
	c, err := connect(identityDSN(path))
	if err != nil {
		return 0, err
	}
	defer c.close()
	var b []byte
	err = c.query(context.Background(), "SELECT substr(data, 25, 8) FROM sqlite_dbpage WHERE pgno = 1", nil, func(r *row) { b = r.bytes() })
	if err != nil || len(b) < 8 {
		return 0, err
	}
	return binary.BigEndian.Uint64(b), nil
}

// complete returns an error if the file at path, which c has open, lacks pages that
// its log cannot have either.
func complete(c *conn, path string) error {
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		pages, err := c.integer("PRAGMA page_count")
		if err != nil {
			return err
		}
		log, _, err := c.checkpoint("NOOP")
		if err != nil {
			return err
		}
		info, err := os.Stat(path) // after the two, because another process may write the log back
		if err != nil {
			return err
		}
		switch missing := pages - info.Size()>>12; {
		case missing <= log:
			return nil
		case !time.Now().Before(end): // another process has not shrunk the file meanwhile
			return fmt.Errorf("%w: it has %d pages fewer than it should, because it was truncated; "+
				"move it away together with its -wal and -shm, and restore a backup", ErrDamaged, missing)
		}
	}
}
