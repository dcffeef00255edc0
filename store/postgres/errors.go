package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

// The ways in which a statement can fail, other than a defect. Each wraps a
// sentinel error of the store contract and adds the reason.
var (
	// errLost: the connection and its transaction are lost. An immediate
	// retry on another connection may succeed.
	errLost = fmt.Errorf("%w: connection lost", store.ErrUnavailable)

	// errSilent: the server did not answer within answerWait, and the driver
	// closed the connection.
	errSilent = fmt.Errorf("%w: the server did not respond in time", store.ErrUnavailable)

	// errBusy: other Updates held the lock for all of lockWait.
	errBusy = fmt.Errorf("%w: timed out waiting for the lock of other updates", store.ErrUnavailable)

	// errUnknown: the connection was lost during the commit, and the database stayed
	// out of reach.
	errUnknown = fmt.Errorf("connection lost during the commit: %w", store.ErrUnknownOutcome)

	// errPooled: a prepared statement of the driver is on another connection.
	errPooled = fmt.Errorf("%w: a pooler such as PgBouncer in transaction mode does not keep prepared statements with their connection; "+
		"add default_query_exec_mode=exec to the DSN of pgx, or binary_parameters=yes to that of lib/pq, or use session mode", store.ErrUnavailable)

	// errClosed: Close was called.
	errClosed = fmt.Errorf("%w: closed", store.ErrUnavailable)

	// errGaveWay: the server aborted the transaction in favor of another.
	errGaveWay = fmt.Errorf("%w", store.ErrConflict)
)

// errNotText: PostgreSQL cannot store such a string. The layers above reject it first.
var errNotText = errors.New("a string is not valid UTF-8 or contains a NUL byte")

// explain wraps err with the corresponding error of the store contract. A driver
// returned err for a reason other than the end of the caller's context.
//
// An error without an SQLSTATE did not come from the server; it means that there
// was no response. Drivers have many errors for a connection that fails or is
// lost, and none in common.
func explain(err error) error {
	var own defect
	if err == nil || errors.As(err, &own) {
		return err
	}
	state := sqlState(err)
	switch {
	case state == "", endsConnection(state):
		return fmt.Errorf("%w: %w", errLost, err)
	case state == "40001", state == "40P01": // serialization_failure, deadlock_detected
		return fmt.Errorf("%w: %w", errGaveWay, err)
	case state == "42P05", state == "26000": // duplicate_prepared_statement, invalid_sql_statement_name
		return fmt.Errorf("%w: %w", errPooled, err)
	case state == "XX001", state == "XX002": // data_corrupted, index_corrupted
		return fmt.Errorf("%w: %w", store.ErrDamaged, err)
	case state == "53100": // disk_full
		return fmt.Errorf("%w: %w", store.ErrFull, err)
	case refuses(state):
		return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
	}
	return err
}

// A defect is an error of this package, not of the driver or the server.
type defect struct{ error }

// retriable reports whether an operation that failed with err may succeed on a retry.
func retriable(err error) bool { return errors.Is(err, errLost) || errors.Is(err, errGaveWay) }

// sqlState returns the SQLSTATE in err, or "" if there is none. Both pgx and
// lib/pq provide this method.
func sqlState(err error) string {
	var coded interface{ SQLState() string }
	if errors.As(err, &coded) {
		return coded.SQLState()
	}
	return ""
}

// endsConnection reports whether the connection is of no more use after an error
// with this code, but a new one may be.
func endsConnection(state string) bool {
	switch state {
	case "57P01", // admin_shutdown, also pg_terminate_backend
		"57P02", // crash_shutdown
		"57P05", // idle_session_timeout
		"25006", // read_only_sql_transaction: the server is a standby, or set so; the next host of the DSN may be the primary
		"25P03", // idle_in_transaction_session_timeout
		"25P04": // transaction_timeout
		return true
	}
	return strings.HasPrefix(state, "08") // connection exceptions
}

// refuses reports whether an error with this code means that the server is
// temporarily unable to run a valid statement.
func refuses(state string) bool {
	switch state {
	case "55P03", // lock_not_available: after lock_timeout
		"57014", // query_canceled: after statement_timeout, or by an administrator
		"57P03", // cannot_connect_now: it is starting, stopping or recovering
		"57P04", // database_dropped
		"58030", // io_error
		"3D000": // invalid_catalog_name: no such database
		return true
	}
	return strings.HasPrefix(state, "28") || // authentication failed
		strings.HasPrefix(state, "53") // too many connections, out of memory
}

// attempts is how often an operation runs if its connection is lost or another
// transaction conflicts with it.
const attempts = 5

// retry calls try until it succeeds, fails permanently, or has failed attempts times. The
// pauses double from a few milliseconds, with jitter, so that callers do not stay in step.
func retry(ctx context.Context, try func() error) error {
	for n := 1; ; n++ {
		err := try()
		if n == attempts || !retriable(err) {
			return err
		}
		if n == 1 && errors.Is(err, errLost) {
			continue // usually a stale connection of the pool: use another
		}
		select {
		case <-time.After(rand.N(5 * time.Millisecond << n)):
		case <-ctx.Done():
			return fmt.Errorf("postgres: %w", ctx.Err())
		}
	}
}
