package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

// Limits of a group: its number of Updates, and the time during which it accepts
// more. With more than about sixty savepoints PostgreSQL looks them up outside
// its cache, and other processes wait while a group runs.
const (
	groupSize = 50
	groupTime = 20 * time.Millisecond
	// groupSlow is how long after its leader's function a group waits for that of a
	// member.
	groupSlow = 100 * time.Millisecond
)

// A group is one database transaction that runs the Updates of several callers
// one after another, each on its caller's goroutine. It holds the schema's lock
// until it is committed.
//
// The caller that opens a group is its leader: it runs its own function, then
// lends the group to the waiting callers one at a time, and ends it when none is
// left. A single Update pays for one BEGIN and one COMMIT; concurrent Updates
// share them, and the write to disk.
//
// A member whose function takes long does not hold up those before it: the leader
// commits without it, and it leads the next group.
type group struct {
	schema schema
	conn   *sql.Conn
	back   chan struct{} // receives when a member returns the group to the leader

	wrote     bool  // there is something to commit
	savepoint bool  // there is a savepoint…
	fresh     bool  // …and nothing was written after it
	spent     bool  // the group accepts no more members
	err       error // why it cannot commit or, once done is closed, did not

	done chan struct{}
}

// Update runs fn in the open group, or in a new one. The wait for a group ends
// with ctx. A statement that has been sent runs to its end, because other
// Updates depend on its connection.
//
// An Update waits for the lock at most lockWait, counted from its own call. If
// another machine holds the lock, all waiting Updates therefore time out with
// [store.ErrUnavailable], not one after the other.
//
// If the connection is lost before COMMIT is sent, or the server aborts the
// transaction in favor of another, fn runs again, up to five times in total. If
// the connection is lost during COMMIT, Update returns
// [store.ErrUnknownOutcome].
func (s *Store) Update(ctx context.Context, fn func(store.Tx) error) error {
	deadline := time.Now().Add(s.lockWait)
	late := time.NewTimer(s.lockWait)
	defer late.Stop()
	return retry(ctx, func() error {
		if err := s.ready(ctx); err != nil {
			return about(err, "update")
		}
		if !time.Now().Before(deadline) {
			return about(errBusy, "update")
		}
		select {
		case t := <-s.join:
			return s.member(ctx, t, fn)
		case s.lead <- struct{}{}:
			return s.leader(ctx, deadline, fn)
		case <-ctx.Done():
			return about(ctx.Err(), "waiting for other updates")
		case <-late.C:
			return about(errBusy, "update")
		}
	})
}

// leader opens a group, runs fn in it, lends it to others and ends it.
func (s *Store) leader(ctx context.Context, deadline time.Time, fn func(store.Tx) error) (err error) {
	conn, err := s.begin(ctx, s.schema.beginUpdate(time.Until(deadline)))
	if err != nil {
		<-s.lead
		return about(err, "update")
	}
	g := &group{schema: s.schema, conn: conn, back: make(chan struct{}), done: make(chan struct{})}
	defer func() { // also when fn panics
		if !s.lend(ctx, g) {
			<-s.lead // the next group may queue for the lock while this one commits
		}
		g.end(ctx)
		err = g.outcome(err)
	}()
	return g.run(ctx, g.transaction(), fn)
}

// lend hands the group to the currently waiting callers, one after another,
// until none is left or the group reaches a limit. If a function takes long, lend
// makes its caller the leader of the next group, and returns true.
func (s *Store) lend(ctx context.Context, g *group) (passed bool) {
	begun := time.Now()
	late := time.NewTimer(groupSlow)
	defer late.Stop()
	for n := 1; n < groupSize && !g.spent && time.Since(begun) < groupTime; n++ {
		t := g.transaction()
		select {
		case s.join <- t:
		default:
			return false
		}
		select {
		case <-g.back:
		case <-late.C:
			if g.recall(ctx, t) {
				return true
			}
			<-g.back // its function has just ended
		}
	}
	return false
}

// member runs fn in a group that another caller leads, and waits for the group
// to end. If fn takes so long that it leaves the group, it runs again as the leader
// of the next.
func (s *Store) member(ctx context.Context, t *transaction, fn func(store.Tx) error) error {
	g := t.group
	err := func() (err error) {
		returned := false
		defer func() {
			switch {
			case !t.recalled:
				g.back <- struct{}{}
			case !returned: // fn panicked, and no caller leads
				<-s.lead
			}
		}()
		err = g.run(ctx, t, fn)
		returned = true
		return err
	}()
	if t.recalled {
		return s.leader(ctx, time.Now().Add(s.lockWait), fn)
	}
	<-g.done
	return g.outcome(err)
}

// recall undoes what the member wrote, unless its function has ended, and makes its
// further calls fail. It returns whether it did.
func (g *group) recall(ctx context.Context, t *transaction) bool {
	t.mu.Lock() // after the statement that runs
	defer t.mu.Unlock()
	if t.over.Load() {
		return false
	}
	if t.err != nil || t.wrote {
		g.undo(ctx, t)
	}
	t.err, t.recalled = errGaveWay, true
	return true
}

// run calls fn, and undoes its writes if it fails or panics.
func (g *group) run(ctx context.Context, t *transaction, fn func(store.Tx) error) (err error) {
	returned := false
	defer func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.over.Store(true)
		if t.err != nil && (err == nil || again(t.err)) {
			err = about(t.err, "update") // regardless of what fn returned
		}
		switch {
		case t.recalled, t.err == nil && !t.wrote: // nothing to keep, nothing to undo
		case returned && err == nil:
			g.wrote, g.fresh = true, false
		default:
			g.undo(ctx, t)
		}
	}()
	err = fn(tx{reader{t}, t})
	returned = true
	return err
}

func (g *group) transaction() *transaction {
	return &transaction{schema: g.schema, conn: g.conn, group: g}
}

// mark sets a savepoint after everything written so far, unless there is one. It
// is called at a member's first write; members that only read need no savepoint.
func (g *group) mark(ctx context.Context) error {
	if !g.wrote || g.fresh {
		return nil
	}
	set := "SAVEPOINT member"
	if g.savepoint {
		set = "RELEASE SAVEPOINT member; SAVEPOINT member"
	}
	if g.exec(ctx, set); g.err == nil {
		g.savepoint, g.fresh = true, true
	}
	return g.err
}

// undo rolls back the last member's writes and nothing before them. If no earlier
// member has written, that is the whole transaction. If a read failed where there
// was no savepoint, the whole transaction is rolled back too, and the other
// members run again.
func (g *group) undo(ctx context.Context, t *transaction) {
	switch {
	case errors.Is(t.err, errLost), errors.Is(t.err, errSilent):
		g.spent, g.err = true, t.err
	case g.fresh:
		g.exec(ctx, "ROLLBACK TO SAVEPOINT member")
	case g.wrote:
		g.spent, g.err = true, fmt.Errorf("%w: another update in the same transaction failed: %w", errGaveWay, t.err)
	default:
		g.spent = true
	}
}

// exec runs a statement. If it fails, the group cannot continue.
func (g *group) exec(ctx context.Context, stmt string) {
	g.err = ask(context.WithoutCancel(ctx), func(ctx context.Context) error {
		_, err := g.conn.ExecContext(ctx, stmt)
		return err
	})
	g.spent = g.err != nil
}

// end commits the group's writes, if there are any, and notifies the members.
func (g *group) end(ctx context.Context) {
	defer close(g.done)
	switch {
	case g.err != nil:
		discard(g.conn)
	case !g.wrote:
		end(ctx, g.conn, "ROLLBACK")
	default:
		g.err = end(ctx, g.conn, "COMMIT")
		if errors.Is(g.err, errLost) || errors.Is(g.err, errSilent) {
			g.err = fmt.Errorf("%w: %v", errUnknown, g.err) // formatted with %v, so that it is not retried
		}
	}
}

// outcome returns the error of an Update whose function returned err. If the
// group was not committed, err is ignored, because the function may have seen
// writes of other members that were lost. An Update whose function failed can run
// again even if it is unknown whether the others were committed.
func (g *group) outcome(err error) error {
	switch {
	case g.err == nil:
		return err
	case err != nil && errors.Is(g.err, errUnknown):
		return about(errLost, "update")
	}
	return about(g.err, "update")
}
