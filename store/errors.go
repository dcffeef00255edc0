package store

import "errors"

// The sentinels of the contract. A backend wraps them with what it was doing
// and to which record; callers test with [errors.Is].
var (
	// ErrNotFound: there is no such record.
	ErrNotFound = errors.New("not found")

	// ErrExists: the record, or a value that must be unique, is already there.
	ErrExists = errors.New("already exists")

	// ErrConflict: the Update was undone because it competed with others
	// and the backend gave up running it again. Nothing was written; the
	// caller may try again.
	ErrConflict = errors.New("gave way to competing updates")

	// ErrUnavailable: the backend cannot answer now, because it is closed,
	// busy, full or out of reach. An Update that returns it has written
	// nothing, unless the error says that the outcome is unknown.
	ErrUnavailable = errors.New("unavailable")

	// ErrTxDone: the Tx or the Reader of a View was used after its function
	// had returned.
	ErrTxDone = errors.New("transaction is over")
)
