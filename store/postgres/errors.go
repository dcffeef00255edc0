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

// What a statement can fail of, beside a defect. Each is one of the sentinels
// of the contract with a reason.
var (
	// errLost: the connection is gone and with it the transaction. On
	// another connection the same may succeed at once.
	errLost = fmt.Errorf("%w: connection lost", store.ErrUnavailable)

	// errSilent: the server has not answered within answerWait, and the
	// driver has cut the connection.
	errSilent = fmt.Errorf("%w: the server does not answer", store.ErrUnavailable)

	// errBusy: other Updates have kept the lock for as long as an Update
	// waits for it.
	errBusy = fmt.Errorf("%w: other updates have kept the lock", store.ErrUnavailable)

	// errUnknown: the connection was lost while COMMIT was under way.
	errUnknown = fmt.Errorf("connection lost during the commit: %w", store.ErrUnknownOutcome)

	// errClosed: Close was called.
	errClosed = fmt.Errorf("%w: closed", store.ErrUnavailable)

	// errGaveWay: the server undid the transaction in favour of another.
	errGaveWay = fmt.Errorf("%w", store.ErrConflict)
)

// errNotText: no database holds such a string. The layers above let none
// through.
var errNotText = errors.New("a text is not UTF-8, or has a NUL byte")

// explain returns err, which a driver returned for a reason other than the end
// of the caller's context, with the error of the contract that it amounts to.
//
// Whatever has no SQLSTATE is not an answer of the server, but the lack of one:
// drivers have many errors for a connection that cannot be made or is gone, and
// agree on none.
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
	case refuses(state):
		return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
	}
	return err
}

// A defect is an error of our own, made between the driver and the caller.
type defect struct{ error }

// again reports whether what failed with err may succeed if it is tried again.
func again(err error) bool { return errors.Is(err, errLost) || errors.Is(err, errGaveWay) }

// sqlState returns the code of the server's error in err, or "" if there is
// none. Both pgx and lib/pq give it this way.
func sqlState(err error) string {
	var coded interface{ SQLState() string }
	if errors.As(err, &coded) {
		return coded.SQLState()
	}
	return ""
}

// endsConnection reports whether the server hangs up after an error with this
// code, while it may accept a new connection at once.
func endsConnection(state string) bool {
	switch state {
	case "57P01", // admin_shutdown, also pg_terminate_backend
		"57P02", // crash_shutdown
		"57P05", // idle_session_timeout
		"25P03", // idle_in_transaction_session_timeout
		"25P04": // transaction_timeout
		return true
	}
	return strings.HasPrefix(state, "08") // connection exceptions
}

// refuses reports whether an error with this code means that the server does
// not serve for now, though nothing is wrong with the statement.
func refuses(state string) bool {
	switch state {
	case "25006", // read_only_sql_transaction: a standby, or set so
		"55P03", // lock_not_available: after lock_timeout
		"57014", // query_canceled: after statement_timeout, or by an administrator
		"57P03", // cannot_connect_now: it is starting, stopping or recovering
		"57P04", // database_dropped
		"58030", // io_error
		"3D000": // invalid_catalog_name: no such database
		return true
	}
	return strings.HasPrefix(state, "28") || // it does not let us in
		strings.HasPrefix(state, "53") // too many connections, disk full, out of memory
}

// attempts is how often something is tried that other connections or other
// transactions were in the way of.
const attempts = 5

// retry calls try until it succeeds, fails for good, or has failed attempts
// times, with pauses that double from some 5 ms and are drawn at random, so
// that those who failed together do not come back together.
func retry(ctx context.Context, try func() error) error {
	for n := 1; ; n++ {
		err := try()
		if n == attempts || !again(err) {
			return err
		}
		if n == 1 && errors.Is(err, errLost) {
			continue // most often a connection that died in the pool: take another
		}
		select {
		case <-time.After(rand.N(5 * time.Millisecond << n)):
		case <-ctx.Done():
			return fmt.Errorf("postgres: %w", ctx.Err())
		}
	}
}
