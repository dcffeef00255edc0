package postgres

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/store"
)

// coded is an error with an SQLSTATE, as both drivers return it.
type coded string

func (c coded) Error() string    { return "the server says " + string(c) }
func (c coded) SQLState() string { return string(c) }

func TestServerErrors(t *testing.T) {
	for _, test := range []struct {
		err   error
		want  error // nil: no error of the store contract
		again bool
	}{
		{coded("08006"), store.ErrUnavailable, true},  // connection_failure
		{coded("08P01"), store.ErrUnavailable, true},  // protocol_violation
		{coded("57P01"), store.ErrUnavailable, true},  // admin_shutdown
		{coded("57P02"), store.ErrUnavailable, true},  // crash_shutdown
		{coded("25P03"), store.ErrUnavailable, true},  // idle_in_transaction_session_timeout
		{coded("57P03"), store.ErrUnavailable, false}, // cannot_connect_now
		{coded("53100"), store.ErrFull, false},        // disk_full
		{coded("53300"), store.ErrUnavailable, false}, // too_many_connections
		{coded("25006"), store.ErrUnavailable, true},  // read_only_sql_transaction
		{coded("55P03"), store.ErrUnavailable, false}, // lock_not_available
		{coded("57014"), store.ErrUnavailable, false}, // query_canceled
		{coded("28P01"), store.ErrUnavailable, false}, // invalid_password
		{coded("3D000"), store.ErrUnavailable, false}, // invalid_catalog_name
		{coded("58030"), store.ErrUnavailable, false}, // io_error
		{coded("42P05"), store.ErrUnavailable, false}, // duplicate_prepared_statement
		{coded("26000"), store.ErrUnavailable, false}, // invalid_sql_statement_name
		{coded("XX001"), store.ErrUnavailable, false}, // data_corrupted
		{coded("40001"), store.ErrConflict, true},     // serialization_failure
		{coded("40P01"), store.ErrConflict, true},     // deadlock_detected
		{coded("42P01"), nil, false},                  // undefined_table
		{coded("42501"), nil, false},                  // insufficient_privilege
		{coded("23505"), nil, false},                  // unique_violation
		{coded("22003"), nil, false},                  // numeric_value_out_of_range
		{driver.ErrBadConn, store.ErrUnavailable, true},
		{io.ErrUnexpectedEOF, store.ErrUnavailable, true},
		{sql.ErrConnDone, store.ErrUnavailable, true},
		{defect{errors.New("a column of the wrong type")}, nil, false},
	} {
		t.Run(test.err.Error(), func(t *testing.T) {
			is := is.New(t)
			got := explain(fmt.Errorf("wrapped: %w", test.err))
			require.ErrorIs(t, got, test.err) // the cause is kept
			for _, sentinel := range []error{store.ErrUnavailable, store.ErrFull, store.ErrConflict, store.ErrNotFound, store.ErrExists} {
				is.Equal(errors.Is(got, sentinel), errors.Is(test.want, sentinel))
			}
			is.Equal(retriable(got), test.again)
		})
	}
	is := is.New(t)
	is.NoErr(explain(nil))
	require.ErrorIs(t, explain(coded("XX001")), store.ErrDamaged)
	require.Contains(t, explain(coded("42P05")).Error(), "default_query_exec_mode=exec") // what to set
}

func TestRetriesAreBounded(t *testing.T) {
	for _, test := range []struct {
		name string
		errs []error // of the first calls; then nil
		want int     // calls
		err  error
	}{
		{"succeeds immediately", nil, 1, nil},
		{"retries a lost connection", []error{errLost}, 2, nil},
		{"retries two conflicts", []error{errGaveWay, errGaveWay}, 3, nil},
		{"does not retry a final error", []error{store.ErrExists}, 1, store.ErrExists},
		{"does not retry a refusal by the server", []error{store.ErrUnavailable}, 1, store.ErrUnavailable},
		{"does not retry an unknown outcome", []error{errUnknown}, 1, store.ErrUnknownOutcome},
		{"does not retry the caller's conflict", []error{store.ErrConflict}, 1, store.ErrConflict},
		{"gives up on lost connections", []error{errLost, errLost, errLost, errLost, errLost, errLost}, 5, store.ErrUnavailable},
		{"gives up on conflicts", []error{errGaveWay, errGaveWay, errGaveWay, errGaveWay, errGaveWay, errGaveWay}, 5, store.ErrConflict},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				is := is.New(t)
				begun, calls := time.Now(), 0
				err := retry(t.Context(), func() error {
					calls++
					if calls <= len(test.errs) {
						return about(test.errs[calls-1], "it")
					}
					return nil
				})
				is.Equal(calls, test.want)
				require.ErrorIs(t, err, test.err)
				is.Equal(err == nil, test.err == nil)
				require.Less(t, time.Since(begun), 200*time.Millisecond)
			})
		})
	}
}

func TestRetriesEndWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		ctx, cancel := context.WithCancel(t.Context())
		calls := 0
		err := retry(ctx, func() error {
			calls++
			cancel()
			return errGaveWay
		})
		is.Equal(calls, 1)
		require.ErrorIs(t, err, context.Canceled)
	})
}
