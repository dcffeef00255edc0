package postgres

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/store"
)

// A script is a server: it answers each call of a function with what say returns.
type script struct {
	driver.Conn // nil: none of its other methods is called
	say         func(function, arg string) (driver.Value, error)
}

func (s *script) Connect(context.Context) (driver.Conn, error) { return s, nil }
func (s *script) Driver() driver.Driver                        { return nil }
func (s *script) Close() error                                 { return nil }

func (s *script) QueryContext(_ context.Context, stmt string, args []driver.NamedValue) (driver.Rows, error) {
	_, function, _ := strings.Cut(stmt, ".licensing_")
	function, _, _ = strings.Cut(function, "_1(")
	v, err := s.say(function, args[0].Value.(string))
	return &oneValue{v: v}, err
}

type oneValue struct {
	v    driver.Value
	read bool
}

func (r *oneValue) Columns() []string { return []string{"answer"} }
func (r *oneValue) Close() error      { return nil }

func (r *oneValue) Next(dest []driver.Value) error {
	if r.read {
		return io.EOF
	}
	dest[0], r.read = r.v, true
	return nil
}

// scripted returns a store on a server that answers with say.
func scripted(t *testing.T, say func(function, arg string) (driver.Value, error)) *Store {
	db := sql.OpenDB(&script{say: say})
	t.Cleanup(func() { db.Close() })
	schema, err := newSchema("")
	is.New(t).NoErr(err)
	return newOn(db, schema)
}

func putKey(key string) func(store.Tx) error {
	return func(tx store.Tx) error {
		return tx.PutEntries(context.Background(), store.Entry{Kind: "kind", Key: key})
	}
}

// TestOutcomeThatStaysUnknown: the answer is lost, and the database stays out of reach.
func TestOutcomeThatStaysUnknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		asked := 0
		s := scripted(t, func(function, _ string) (driver.Value, error) {
			if function == "resolve" {
				asked++
			}
			return nil, io.ErrUnexpectedEOF
		})
		begun, runs := time.Now(), 0
		err := s.Update(t.Context(), func(tx store.Tx) error {
			runs++
			return putKey("key")(tx)
		})
		require.ErrorIs(t, err, store.ErrUnknownOutcome)
		is.True(!errors.Is(err, store.ErrUnavailable)) // which would mean that nothing was written
		is.Equal(runs, 1)
		require.Greater(t, asked, 10)
		require.AtMost(t, time.Since(begun), resolveWait+time.Second)
	})
}

// TestResolvedTooLate: a process that was stopped for more than an hour between the call
// and the question does not rely on the answer.
func TestResolvedTooLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := scripted(t, func(string, string) (driver.Value, error) { return "[]", nil })
		_, err := s.resolve(1, time.Now().Add(-resolveLate-time.Minute), errLost)
		require.ErrorIs(t, err, store.ErrUnknownOutcome)
		_, err = s.resolve(1, time.Now().Add(-resolveLate+time.Minute), errLost)
		is.New(t).NoErr(err)
	})
}

// TestResolved: what the server says of a batch whose answer was lost is the result.
func TestResolved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		answers := map[string][]any{ // of the calls, in order: a value or an error
			"commit":  {io.ErrUnexpectedEOF, coded("57P01"), coded("55P03")},
			"resolve": {io.ErrUnexpectedEOF, nil, "[]"}, // lost again, refused, committed
		}
		s := scripted(t, func(function, _ string) (driver.Value, error) {
			next := answers[function][0]
			answers[function] = answers[function][1:]
			if err, ok := next.(error); ok {
				return nil, err
			}
			return next, nil
		})
		runs := 0
		update := func() error {
			return s.Update(t.Context(), func(tx store.Tx) error {
				runs++
				return putKey("key")(tx)
			})
		}
		is.NoErr(update())
		is.Equal(runs, 2)                                           // the first was refused
		require.ErrorIs(t, update(), store.ErrUnavailable)          // the server waited for the lock, and says so
		is.Equal(len(answers["commit"])+len(answers["resolve"]), 0) // and is not asked
	})
}

// TestHalves: one Update of a hundred cannot be written. The server refuses each call
// with it.
func TestHalves(t *testing.T) {
	is := is.New(t)
	calls := 0
	s := scripted(t, func(_, arg string) (driver.Value, error) {
		calls++
		if strings.Contains(arg, `"bad"`) {
			return nil, coded("54000") // program_limit_exceeded
		}
		return "[]", nil
	})
	var members []*attempt
	for i := range batchSize {
		a := s.attempt(nil, false)
		key := "good"
		if i == 41 {
			key = "bad"
		}
		is.NoErr(putKey(key)(a))
		is.NoErr(a.encode())
		members = append(members, a)
	}
	s.write(members, func() {})
	for i, a := range members {
		is.Equal(a.result != nil, i == 41)
	}
	require.AtMost(t, calls, 15)
}
