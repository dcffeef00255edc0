package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/matryer/is"
	engine "modernc.org/sqlite"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/store"
)

// A member is an update of a group in a test.
type member struct {
	ctx context.Context // nil: that of the test
	fn  func(tx store.Tx) error

	then func() // called when Update has returned; may be nil

	runs  int    // how often fn was called
	group *group // that of its last run
	err   error  // what Update returned
	gone  any    // what came out of it instead: a panic's value, or "goexit"
}

// adds returns a member that creates a license with the id.
func adds(id string) *member {
	return &member{fn: func(tx store.Tx) error { return add(tx, id) }}
}

func add(tx store.Tx, id string) error {
	return tx.CreateLicenses(context.Background(), store.License{ID: id, Key: id})
}

// runGroup runs the updates in one group, in order, after an update that changes
// nothing.
func runGroup(t *testing.T, st *Store, members ...*member) {
	t.Helper()
	first := &member{fn: func(store.Tx) error { return nil }}
	leadGroup(t, st, first, members...)
	if first.err != nil {
		t.Error(first.err)
	}
}

// leadGroup runs the updates in one group, in order: the first keeps the write
// lock until all others are in the queue. It returns when all have returned, and
// checks that the write lock is free.
func leadGroup(t *testing.T, st *Store, first *member, members ...*member) {
	t.Helper()
	w := st.writer
	w.maxAge, w.slow = time.Hour, time.Hour
	var all sync.WaitGroup
	run := func(m *member) {
		if m.ctx == nil {
			m.ctx = t.Context()
		}
		all.Go(func() {
			m.gone = "goexit"
			defer func() {
				if p := recover(); p != nil {
					m.gone = p
				}
			}()
			m.err = st.Update(m.ctx, func(tx store.Tx) error {
				m.runs, m.group = m.runs+1, w.group
				return m.fn(tx)
			})
			m.gone = nil
			if m.then != nil {
				m.then()
			}
		})
	}
	lined := make(chan struct{})
	leads := make(chan struct{})
	var once sync.Once
	fn := first.fn
	first.fn = func(tx store.Tx) error {
		once.Do(func() { close(leads); <-lined }) // it may run again
		return fn(tx)
	}
	run(first)
	<-leads
	for i, m := range members {
		run(m)
		waitFor(t, "member in line", func() bool { return inLine(w) == i+1 })
	}
	close(lined)
	all.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.locked || w.group != nil {
		t.Error("an update still has the write lock")
	}
}

// inLine returns how many updates wait for the write lock.
func inLine(w *writer) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.queue)
}

// inTurn calls fn with the connection and the write lock.
func inTurn(t *testing.T, w *writer, fn func(c *conn)) {
	t.Helper()
	if err := w.lock(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	defer w.unlock()
	fn(w.conn)
}

// waitFor yields until the condition holds.
func waitFor(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !holds(); runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatalf("no %s", what)
		}
	}
}

// ids returns the ids of all licenses.
func ids(t *testing.T, r store.Reader) string {
	t.Helper()
	found, err := r.Licenses(context.Background(), store.LicenseQuery{})
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, l := range found {
		all = append(all, l.ID)
	}
	return strings.Join(all, " ")
}

// during is called by the SQL function during(n), from inside a statement,
// with the numbers of its rows.
var during atomic.Pointer[func(row int64)]

func init() {
	engine.MustRegisterScalarFunction("during", 1, func(_ *engine.FunctionContext, args []driver.Value) (driver.Value, error) {
		if fn := during.Load(); fn != nil {
			(*fn)(args[0].(int64))
		}
		return args[0], nil
	})
}

// manyRows yields numbers through during: some milliseconds of statement.
const manyRows = `WITH RECURSIVE number (n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM number WHERE n < 5000) SELECT during(n) AS n FROM number`

func TestUpdatesInLineShareACommit(t *testing.T) {
	is := is.New(t)
	st := open(t)
	a, b, c := adds("a"), adds("b"), adds("c")
	runGroup(t, st, a, b, c)
	is.True(a.group == b.group && b.group == c.group)
	is.Equal(ids(t, st), "a b c")
}

// TestFailureOfOneMemberOfAGroup has a member in trouble at each place of a
// group. The others must not notice: not even by running again. If it is the
// first, they form a group without it.
func TestFailureOfOneMemberOfAGroup(t *testing.T) {
	oops := errors.New("oops")
	tests := map[string]struct {
		trouble func(tx *tx, ctx context.Context, end func()) error
		err     error
		gone    any
	}{
		"error": {func(*tx, context.Context, func()) error { return oops }, oops, nil},
		"panic": {func(*tx, context.Context, func()) error { panic("oops") }, nil, "oops"},
		"exit":  {func(*tx, context.Context, func()) error { runtime.Goexit(); return nil }, nil, "goexit"},
		"context ends between calls": {func(tx *tx, ctx context.Context, end func()) error {
			end()
			return tx.DeleteLicense(ctx, "bad")
		}, context.Canceled, nil},
		"context ends inside a write": {func(tx *tx, ctx context.Context, end func()) error {
			stop := func(int64) { end() }
			during.Store(&stop)
			defer during.Store(nil)
			if _, err := tx.exec(ctx, `INSERT INTO entries (kind, key, owner, expires_at, move) SELECT 'x', n, '', 0, 0 FROM (`+manyRows+`)`); err != nil {
				return fmt.Errorf("the statement was stopped: %v", err)
			}
			return tx.DeleteLicense(ctx, "bad")
		}, context.Canceled, nil},
		"context ends inside a list": {func(tx *tx, ctx context.Context, end func()) error {
			stop := func(int64) { end() }
			during.Store(&stop)
			defer during.Store(nil)
			if err := tx.query(ctx, scan, `SELECT sum(n) FROM (`+manyRows+`)`, nil, func(*row) {}); err != nil {
				return fmt.Errorf("the statement was stopped: %v", err)
			}
			return tx.DeleteLicense(ctx, "bad")
		}, context.Canceled, nil},
		"its calls find conflicts": {func(tx *tx, ctx context.Context, _ func()) error {
			for _, err := range []error{
				tx.CreateLicenses(ctx, store.License{ID: "bad", Key: "other"}),
				tx.CreateLicenses(ctx, store.License{ID: "other", Key: "bad"}),
				tx.PutActivations(ctx, store.Activation{LicenseID: "bad", ID: "2", Fingerprint: "f"}),
			} {
				if !errors.Is(err, store.ErrExists) {
					return err
				}
			}
			if err := tx.PutActivations(ctx, store.Activation{LicenseID: "none", ID: "1"}); !errors.Is(err, store.ErrNotFound) {
				return err
			}
			return oops
		}, oops, nil},
	}
	for name, tt := range tests {
		for place := range 4 {
			t.Run(fmt.Sprintf("%s/%d", name, place), func(t *testing.T) {
				is := is.New(t)
				st := open(t)
				ctx, end := context.WithCancel(t.Context())
				defer end()
				bad := &member{ctx: ctx, fn: func(x store.Tx) error {
					if err := add(x, "bad"); err != nil {
						return err
					}
					if err := x.PutActivations(ctx, store.Activation{LicenseID: "bad", ID: "1", Fingerprint: "f"}); err != nil {
						return err
					}
					return tt.trouble(x.(*tx), ctx, end)
				}}
				a, b := adds("a"), adds("b")
				if place == 3 {
					leadGroup(t, st, bad, a, b)
				} else {
					runGroup(t, st, slices.Insert([]*member{a, b}, place, bad)...)
				}
				is.NoErr(a.err)
				is.NoErr(b.err)
				is.True(a.group == b.group && (a.group == bad.group) == (place < 3))
				is.Equal([]int{a.runs, b.runs, bad.runs}, []int{1, 1, 1})
				require.ErrorIs(t, bad.err, tt.err)
				is.Equal(bad.gone, tt.gone)
				is.Equal(ids(t, st), "a b")
			})
		}
	}
}

func TestContextThatEndsAfterTheLastCallChangesNothing(t *testing.T) {
	is := is.New(t)
	st := open(t)
	ctx, end := context.WithCancel(t.Context())
	is.NoErr(st.Update(ctx, func(tx store.Tx) error {
		defer end()
		return add(tx, "a")
	}))
	is.Equal(ids(t, st), "a")
}

// TestFailedUpdateAnswersFromWhatIsCommitted lets an update fail because of
// what another wrote in the same group.
func TestFailedUpdateAnswersFromWhatIsCommitted(t *testing.T) {
	is := is.New(t)
	st := open(t)
	answered := make(chan struct{})
	fails := adds("a") // it exists
	fails.then = func() {
		is.Equal(ids(t, st), "a b")
		close(answered)
	}
	last := &member{fn: func(tx store.Tx) error {
		select {
		case <-answered:
			t.Error("the update that failed did not wait for its group")
		case <-time.After(20 * time.Millisecond): // it waits, as it should
		}
		return add(tx, "b")
	}}
	runGroup(t, st, adds("a"), fails, last)
	require.ErrorIs(t, fails.err, store.ErrExists)
}

func TestContextEndsTheWaitForTheWriteLock(t *testing.T) {
	is := is.New(t)
	st := open(t)
	var waits sync.WaitGroup
	err := st.Update(t.Context(), func(tx store.Tx) error {
		for range 2 {
			ctx, end := context.WithCancel(t.Context())
			waits.Go(func() {
				err := st.Update(ctx, func(store.Tx) error { t.Error("fn was called"); return nil })
				require.ErrorIs(t, err, context.Canceled)
			})
			waitFor(t, "update in line", func() bool { return inLine(st.writer) == 1 })
			end()
			waits.Wait() // while the write lock is taken
		}
		return add(tx, "a")
	})
	is.NoErr(err)
	is.Equal(ids(t, st), "a")
}

// TestLockGrantedTooLateIsPassedOn grants the write lock to an update at the
// moment its context ends.
func TestLockGrantedTooLateIsPassedOn(t *testing.T) {
	is := is.New(t)
	w := open(t).writer
	is.NoErr(w.lock(t.Context(), false))
	ctx, end := context.WithCancel(t.Context())
	waits := make(chan error)
	go func() { waits <- w.lock(ctx, false) }()
	waitFor(t, "update in line", func() bool { return inLine(w) == 1 })
	w.mu.Lock() // as unlock does
	end()
	granted := w.queue[0]
	w.queue = nil
	close(granted)
	w.mu.Unlock()
	require.ErrorIs(t, <-waits, context.Canceled)
	is.NoErr(w.lock(t.Context(), false)) // would otherwise wait forever
	w.unlock()
}

// TestSlowMemberRunsAgainByItself has the second of three members wait until the
// first has returned.
//
// Fault: the first waits for a function that began after its own.
func TestSlowMemberRunsAgainByItself(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func() error{
		"done":   func() error { return nil },
		"failed": func() error { return errors.New("failed") },
		"panic":  func() error { panic("oops") },
		"exit":   func() error { runtime.Goexit(); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			st := open(t)
			returned := make(chan struct{})
			lead := &member{fn: func(store.Tx) error {
				st.writer.slow = 200 * time.Millisecond
				return nil
			}}
			first := adds("a")
			first.then = func() { close(returned) }
			var later error
			slow := &member{fn: func(tx store.Tx) error {
				if err := add(tx, "b"); err != nil {
					return err
				}
				<-returned
				if later = add(tx, "c"); later != nil {
					return later
				}
				return end()
			}}
			last := adds("d")
			leadGroup(t, st, lead, first, slow, last)
			is.NoErr(first.err)
			is.NoErr(last.err)
			is.NoErr(later)
			is.Equal(slow.runs, 2)
			is.True(slow.group != first.group && slow.group != last.group)
			is.Equal(ids(t, st), map[string]string{"done": "a b c d"}[name]+map[bool]string{true: "a d"}[name != "done"])
			is.Equal(slow.err == nil, name != "failed")
			is.Equal(slow.gone == nil, name == "done" || name == "failed")
		})
	}
}

func TestGroupIsBounded(t *testing.T) {
	st := open(t)
	st.writer.maxMembers, st.writer.maxAge = 3, time.Hour
	var groups []*group
	var all sync.WaitGroup
	run := func() {
		all.Go(func() {
			err := st.Update(t.Context(), func(store.Tx) error {
				g := st.writer.group
				groups = append(groups, g)
				if len(groups) == 1 {
					waitFor(t, "line", func() bool { return inLine(st.writer) == 6 })
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	for range 7 {
		run()
	}
	all.Wait()
	is := is.New(t)
	is.Equal(len(groups), 7)
	for i := range 6 {
		is.Equal(groups[i] == groups[i+1], i%3 != 2) // three, three and one
	}

	st.writer.maxAge = 0 // every group is too old
	groups = nil
	for range 7 {
		run()
	}
	all.Wait()
	is.Equal(len(slices.Compact(groups)), 7)
}

// TestGroupWaitsForRunnableGoroutines: once updates have shared a transaction, the
// last in the queue lets other goroutines run before it commits.
func TestGroupWaitsForRunnableGoroutines(t *testing.T) {
	is := is.New(t)
	st := open(t)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // so that nothing else runs unless it yields
	var first, second *group
	for try := 0; try < 10 && (try == 0 || first != second); try++ { // a goroutine may lose its processor
		runGroup(t, st, &member{fn: func(store.Tx) error { return nil }})
		var all sync.WaitGroup
		is.NoErr(st.Update(t.Context(), func(tx store.Tx) error {
			first = st.writer.group
			all.Go(func() {
				err := st.Update(t.Context(), func(store.Tx) error {
					second = st.writer.group
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			})
			return nil
		}))
		all.Wait()
	}
	is.True(first == second)
}

// TestManyUpdatesInTrouble runs updates that succeed, fail, panic, exit and lose
// their contexts, all mixed. A stored count must equal the number of updates that
// returned nil, or that had no caller left to return to.
func TestManyUpdatesInTrouble(t *testing.T) {
	is := is.New(t)
	st := open(t)
	oops := errors.New("oops")
	var kept atomic.Int64
	var all sync.WaitGroup
	for i := range 16 {
		random := rand.New(rand.NewPCG(1, uint64(i)))
		all.Go(func() {
			for range 50 {
				ctx, end := context.WithCancel(t.Context())
				trouble := random.IntN(6)
				if trouble > 3 {
					ctx, end = context.WithTimeout(ctx, time.Duration(random.IntN(2000))*time.Microsecond)
				}
				call := func(fn func(err error)) {
					defer func() { recover() }()
					fn(st.Update(ctx, func(tx store.Tx) error {
						if err := raise(ctx, tx, "k", "n"); err != nil {
							return err
						}
						switch trouble {
						case 0:
							return oops
						case 1:
							panic(oops)
						case 2:
							runtime.Goexit()
						}
						_, err := tx.Entries(ctx, store.EntryQuery{Kind: "k"})
						return err
					}))
				}
				var one sync.WaitGroup
				one.Go(func() { // which a Goexit may end
					call(func(err error) {
						if err == nil {
							kept.Add(1)
						} else if !errors.Is(err, oops) && !errors.Is(err, context.DeadlineExceeded) {
							t.Error(err)
						}
					})
				})
				one.Wait()
				end()
			}
		})
	}
	all.Wait()
	count, err := st.Entry(t.Context(), "k", "n")
	is.NoErr(err)
	is.Equal(string(count.Data), fmt.Sprint(kept.Load()))
}

// raise adds to the count that an entry holds.
func raise(ctx context.Context, tx store.Tx, kind, key string) error {
	e, err := tx.Entry(ctx, kind, key)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	n, _ := strconv.Atoi(string(e.Data)) // zero if there is none
	return tx.PutEntries(ctx, store.Entry{Kind: kind, Key: key, Data: strconv.AppendInt(nil, int64(n+1), 10)})
}
