package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

// How many Updates a group takes, and for how long it takes more. Past some
// sixty savepoints PostgreSQL has to look them up outside of its memory; and
// while a group runs, the other processes wait.
const (
	groupSize = 50
	groupTime = 20 * time.Millisecond
)

// A group is one transaction of the database that carries the Updates of many
// callers, one after another, each on its caller's goroutine. It holds the lock
// of the register from its beginning until it is committed.
//
// The caller who opens it leads it: it runs its own function, then lends the
// group to those who wait, one at a time, and ends it when nobody waits. So a
// lone Update pays for a BEGIN and a COMMIT, and many at once share them, and
// the write to disk.
type group struct {
	schema schema
	conn   *sql.Conn
	back   chan struct{} // whoever was lent the group gives it back

	wrote     bool  // there is something to commit
	savepoint bool  // there is a savepoint…
	fresh     bool  // …and nothing was written behind it
	spent     bool  // the group takes no more members
	err       error // why it cannot commit or, once done is closed, has not

	done chan struct{}
}

// Update runs fn in a group: in the one that is open, or in a new one. The wait
// for that ends with ctx; a statement that was sent is waited for, since others
// depend on its connection.
//
// The wait for the lock is bounded by lockWait from the call of Update on,
// however many wait: when another machine keeps the lock, they all give up
// together, with [store.ErrUnavailable].
//
// If the connection was lost before COMMIT was sent, or the server undid the
// transaction in favour of another, fn runs again, at most five times in all.
// If it was lost while COMMIT was under way, Update returns
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
		case g := <-s.join:
			return g.member(ctx, fn)
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
		s.lend(g)
		<-s.lead // the next group may queue for the lock while this one commits
		g.end(ctx)
		err = g.outcome(err)
	}()
	return g.run(ctx, fn)
}

// lend hands the group to those who wait for a turn at this moment, one after
// another, until nobody does.
func (s *Store) lend(g *group) {
	begun := time.Now()
	for n := 1; n < groupSize && !g.spent && time.Since(begun) < groupTime; n++ {
		select {
		case s.join <- g:
			<-g.back
		default:
			return
		}
	}
}

// member runs fn in a group that another caller leads, and waits for its end.
func (g *group) member(ctx context.Context, fn func(store.Tx) error) error {
	err := func() error {
		defer func() { g.back <- struct{}{} }() // also when fn panics
		return g.run(ctx, fn)
	}()
	<-g.done
	return g.outcome(err)
}

// run calls fn, and undoes what it did if it fails or panics.
func (g *group) run(ctx context.Context, fn func(store.Tx) error) error {
	t := g.transaction()
	t.mark = g.mark
	kept := false
	defer func() {
		t.over.Store(true)
		switch {
		case t.err == nil && !t.wrote: // nothing to keep, nothing to undo
		case kept:
			g.wrote, g.fresh = true, false
		default:
			g.undo(ctx, t)
		}
	}()
	err := fn(tx{reader{t}, t})
	if t.err != nil && (err == nil || again(t.err)) {
		err = about(t.err, "update") // whatever fn made of it
	}
	kept = err == nil
	return err
}

func (g *group) transaction() *transaction {
	return &transaction{schema: g.schema, conn: g.conn, shared: true}
}

// mark sets a savepoint behind all that was written so far, if there is none.
// Members come by it when they begin to write; the many that only read do
// without.
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

// undo takes back what the last member did, and nothing before it. If none has
// written before it, that is the whole transaction. It is so too if a read has
// failed where there was no savepoint: the others run again.
func (g *group) undo(ctx context.Context, t *transaction) {
	switch {
	case errors.Is(t.err, errLost), errors.Is(t.err, errSilent):
		g.spent, g.err = true, t.err
	case g.fresh:
		g.exec(ctx, "ROLLBACK TO SAVEPOINT member")
	case g.wrote:
		g.spent, g.err = true, fmt.Errorf("%w: another update in the group has failed: %w", errGaveWay, t.err)
	default:
		g.spent = true
	}
}

// exec runs a statement without which the group cannot go on.
func (g *group) exec(ctx context.Context, stmt string) {
	g.err = ask(context.WithoutCancel(ctx), func(ctx context.Context) error {
		_, err := g.conn.ExecContext(ctx, stmt)
		return err
	})
	g.spent = g.err != nil
}

// end commits what there is to commit, and tells the members.
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
			g.err = fmt.Errorf("%w: %v", errUnknown, g.err) // which is not to be tried again
		}
	}
}

// outcome returns what an Update of the group returns whose function has
// returned err. If the group was not committed, err counts for nothing, since
// the function has seen what other members wrote. An Update that has failed
// anyway can run again even if it is unknown whether the others were committed.
func (g *group) outcome(err error) error {
	switch {
	case g.err == nil:
		return err
	case err != nil && errors.Is(g.err, errUnknown):
		return about(errLost, "update")
	}
	return about(g.err, "update")
}
