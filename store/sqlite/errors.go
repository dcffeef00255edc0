package sqlite

import (
	"errors"
	"fmt"

	engine "modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/seed-d8a106b4/licensekit/store"
)

// code returns the engine's extended result code in err, or zero.
func code(err error) int {
	if e, ok := errors.AsType[*engine.Error](err); ok {
		return e.Code()
	}
	return 0
}

// primary returns the primary result code of an extended one.
func primary(code int) int { return code & 0xff }

// busy reports whether err means that another connection has the lock, so that a
// retry can succeed.
func busy(err error) bool {
	switch primary(code(err)) {
	case lib.SQLITE_BUSY, lib.SQLITE_LOCKED, lib.SQLITE_PROTOCOL:
		return true
	}
	return false
}

// sentinel adds the error of the store contract that an error of the engine
// stands for, if there is one. The engine reports a disk that fails to read a
// page (EIO) as a damaged file.
func sentinel(err error) error {
	c := code(err)
	switch c {
	case lib.SQLITE_CONSTRAINT_UNIQUE, lib.SQLITE_CONSTRAINT_PRIMARYKEY:
		return fmt.Errorf("%w: %w", store.ErrExists, err)
	}
	switch primary(c) {
	case lib.SQLITE_FULL:
		return fmt.Errorf("%w: %w", store.ErrFull, err)
	case lib.SQLITE_BUSY, lib.SQLITE_LOCKED, lib.SQLITE_PROTOCOL, // another process
		lib.SQLITE_IOERR, lib.SQLITE_CANTOPEN, lib.SQLITE_READONLY, lib.SQLITE_PERM, // the disk
		lib.SQLITE_NOMEM:
		return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
	case lib.SQLITE_CORRUPT, lib.SQLITE_NOTADB:
		return fmt.Errorf("%w: %w", store.ErrDamaged, err)
	}
	return err
}

// noRoom reports whether err means that the disk is full. A quota and a limit of
// the file size appear as a write error.
func noRoom(err error) bool {
	c := code(err)
	return primary(c) == lib.SQLITE_FULL || c == lib.SQLITE_IOERR_WRITE
}

// constraint reports whether err is a constraint violation, which undoes one
// statement and leaves the transaction open.
func constraint(err error) bool { return primary(code(err)) == lib.SQLITE_CONSTRAINT }

// wrap adds the package and the operation to err. It returns nil for nil.
func wrap(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("sqlite: "+format+": %w", append(args, err)...)
}
