package store

import (
	"errors"
	"fmt"
)

// The sentinels of the contract. A backend wraps them with the operation and the
// id of the record; callers test with [errors.Is].
var (
	// ErrNotFound: there is no such record.
	ErrNotFound = errors.New("not found")

	// ErrExists: the record, or a value that must be unique, already exists.
	ErrExists = errors.New("already exists")

	// ErrConflict: the Update was undone because of concurrent Updates, and
	// the backend gave up running it again. Nothing was written; the caller
	// may try again.
	ErrConflict = errors.New("conflict with concurrent updates")

	// ErrUnavailable: the backend cannot answer now, because it is closed,
	// busy, full or out of reach. An Update that returns it has written
	// nothing.
	ErrUnavailable = errors.New("unavailable")

	// ErrFull: there is no room for the change. It wraps ErrUnavailable, which a
	// backend that cannot tell returns instead.
	ErrFull = fmt.Errorf("%w: the storage is full", ErrUnavailable)

	// ErrDamaged: the backend has found damaged data. It wraps ErrUnavailable. A
	// backend that does not notice damage never returns it.
	ErrDamaged = fmt.Errorf("%w: the data is damaged", ErrUnavailable)

	// ErrUnknownOutcome: the Update may or may not have been committed, for
	// instance because the connection was lost during the commit. Read what
	// it wrote before running it again.
	ErrUnknownOutcome = errors.New("the outcome is unknown")

	// ErrTxDone: the Tx of an Update, or the Reader of a View, was used after
	// its function had returned. It comes before the error of a context.
	ErrTxDone = errors.New("transaction is over")
)
