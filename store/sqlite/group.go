package sqlite

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

// A writer owns the connection for writing and lets one update at a time use
// it. Updates that follow each other without a gap form a group: they share a
// transaction, each after the first in its own savepoint, and the last one in the
// queue commits for all. The update that has the write lock uses conn and group.
//
// A member that takes long does not hold up those before it: when its function does,
// or when it begins to write many rows, the group commits without it, and it runs
// again by itself.
type writer struct {
	conn  *conn
	guard *guard

	// For the turns of processes that write at the same time.
	patience time.Duration // how long an update waits for another process
	blocked  time.Time     // since when another process has the lock; zero: it does not, as of the last attempt
	waited   time.Time     // when an update last waited for another process
	turn     time.Time     // since when this process has not let others have the lock
	ended    time.Time     // when the last transaction ended

	// A group of this size or age accepts no more members, so that the first
	// ones can return.
	maxMembers int
	maxAge     time.Duration

	slow time.Duration // a group of this age commits without the member that runs

	mu     sync.Mutex
	locked bool            // an update has the write lock
	queue  []chan struct{} // updates that wait for it; closing a channel passes the lock on

	group  *group // of the open transaction; nil: none is open
	shared bool   // the last group had several members
	full   bool   // the disk was full, and the log has not been written back since

	checkpointer
}

// A group is the updates that share a transaction.
type group struct {
	began   time.Time
	members int
	alone   bool // accepts no second member
	yielded bool // its last member has let other goroutines run
	kinds   kinds

	last atomic.Pointer[tx] // of the last member, if there are several
	late *time.Timer        // makes it leave

	settled chan struct{} // closed when the transaction has ended
	err     error         // set before: why nothing of it was stored
	unknown bool          // set before: it is unknown whether it was stored
}

// errAgain means that the update must run again by itself: it took long, another
// member of its group may have caused the rollback, or the disk was full.
var errAgain = errors.New("undone together with others")

func newWriter(c *conn, patience time.Duration, g *guard, views *pool) *writer {
	return &writer{
		conn: c, guard: g, patience: patience, maxMembers: 128, maxAge: 5 * time.Millisecond, slow: 20 * time.Millisecond,
		checkpointer: checkpointer{views: views, long: logPages},
	}
}

// update runs fn as a member of a group and returns when the group is settled. An
// update that must run again does so before the updates that wait for the write lock.
func (w *writer) update(ctx context.Context, fn func(store.Tx) error) error {
	began := time.Now()
	if err := w.lock(ctx, false); err != nil {
		return wrap(err, "update")
	}
	g, err := w.member(ctx, began, fn, false)
	ctx = context.WithoutCancel(ctx) // it has waited
	if err == errAgain {
		g, err = w.member(ctx, time.Now(), fn, true)
	}
	w.unlock()
	if err = g.outcome(err); err != errAgain {
		return err
	}
	began = time.Now()
	if err := w.lock(ctx, true); err != nil {
		return wrap(err, "update")
	}
	g, err = w.member(ctx, began, fn, true)
	w.unlock()
	return g.outcome(err)
}

// member runs fn in a group, which it returns if the group is not settled yet. Call
// it with the write lock.
func (w *writer) member(ctx context.Context, began time.Time, fn func(store.Tx) error, alone bool) (*group, error) {
	g, err := w.join(ctx, began, alone)
	if err != nil {
		return nil, wrap(err, "update")
	}
	err = w.run(fn, alone)
	if w.group != g {
		return nil, err
	}
	return g, err
}

// outcome waits until the group is settled, and returns what an update returns whose
// function returned err. An error waits too, because the function may have read what
// other members wrote. If the transaction was lost, an update that shared it must run
// again. The nil group has no other members.
func (g *group) outcome(err error) error {
	if g == nil {
		return err
	}
	<-g.settled
	switch {
	case g.err == nil:
		return err
	case g.alone || g.unknown:
		return wrap(sentinel(g.err), "commit")
	}
	return errAgain
}

// run calls fn, and keeps or undoes what it wrote. If the engine has rolled back
// the transaction, so that neither is possible, run abandons the whole group.
func (w *writer) run(fn func(store.Tx) error, alone bool) (err error) {
	if !w.first() {
		if _, err := w.conn.exec("SAVEPOINT member"); err != nil {
			w.abandon(err)
			return wrap(sentinel(err), "update")
		}
	}
	t := newTx(w.conn, w.group.kinds)
	if g := w.group; !w.first() {
		t.others = w
		g.last.Store(t)
		if g.late == nil {
			g.late = time.AfterFunc(time.Hour, g.withoutLast)
		}
		g.late.Reset(time.Until(g.began.Add(w.slow)))
	}
	unwinding := true
	defer func() {
		if unwinding { // fn panicked or called runtime.Goexit: update does not continue
			if t.end() != errAgain {
				w.keep(false)
			}
			w.unlock()
		}
	}()
	err = fn(t)
	unwinding = false
	if t.end() == errAgain {
		return errAgain
	}
	w.wrote += t.wrote
	if err == nil {
		err = t.err // fn may have ignored it
	}
	if lost := w.keep(err == nil); err == nil && lost != nil {
		err = wrap(sentinel(lost), "update")
	}
	if noRoom(t.err) {
		w.full = true
		if !alone {
			return errAgain
		}
	}
	return err
}

// withoutLast makes the last member leave, unless its function has ended.
func (g *group) withoutLast() {
	t := g.last.Load()
	t.mu.Lock() // the connection is free, and the function does not end meanwhile
	defer t.mu.Unlock()
	if !t.over.Load() {
		t.leaveGroup()
	}
}

// leaveGroup commits the group without its last member, which takes long: the updates
// before that one must not wait for it. Call it with mu.
func (t *tx) leaveGroup() error {
	if w := t.others; t.err != errAgain {
		t.err = errAgain
		if w.keep(false) == nil {
			w.commit()
		}
	}
	return t.err
}

// first reports whether the current update is the first member of its group. The
// first member has no savepoint: until it ends, the transaction holds no other
// changes. A savepoint is expensive, since the engine copies every page before
// its first change.
func (w *writer) first() bool { return w.group.members == 1 }

// keep ends the current update: it keeps its changes if ok is true, and undoes
// them otherwise.
func (w *writer) keep(ok bool) (err error) {
	if w.first() {
		if !ok {
			w.abandon(nil)
		}
		return nil
	}
	if !ok {
		_, err = w.conn.exec("ROLLBACK TO member")
		clear(w.group.kinds) // the member may have found none after it had deleted the last one
	}
	if err == nil {
		_, err = w.conn.exec("RELEASE member")
	}
	if err != nil { // the savepoint is gone, and with it the transaction
		w.abandon(err)
	}
	return err
}

// full reports whether the group accepts no more members. The nil group is never
// full: a new one begins.
func (g *group) full(w *writer) bool {
	return g != nil && (g.alone || g.members >= w.maxMembers || time.Since(g.began) >= w.maxAge)
}

// join makes the current update a member of the group, or of a new one if there
// is none or the update must be alone.
func (w *writer) join(ctx context.Context, began time.Time, alone bool) (*group, error) {
	if alone && w.group != nil {
		w.commit()
	}
	if w.group == nil {
		if alone && w.full {
			// Writing the log back into the file makes room in the log. If
			// that fails, so does the update.
			w.beside.Lock()
			w.conn.exec("PRAGMA wal_checkpoint(TRUNCATE)")
			w.beside.Unlock()
			w.full = false
		}
		if err := w.guard.check(); err != nil {
			return nil, err
		}
		if err := w.begin(ctx, began); err != nil {
			return nil, sentinel(err)
		}
		w.group = &group{began: time.Now(), alone: alone, settled: make(chan struct{}), kinds: kinds{}}
	}
	w.group.members++
	return w.group, nil
}

// commit makes the changes of the group durable and checks that they are in the
// file that the next Open finds.
func (w *writer) commit() {
	if _, err := w.conn.exec("COMMIT"); err != nil {
		w.abandon(err)
		return
	}
	w.shared = w.group.members > 1
	if err := w.guard.check(); err != nil {
		w.group.err, w.group.unknown = fmt.Errorf("%w: %v", store.ErrUnknownOutcome, err), true
	}
	w.settle()
	w.look()
}

// abandon undoes the whole group. The error may be nil if the current update is
// its only member.
func (w *writer) abandon(err error) {
	w.conn.exec("ROLLBACK") // an error only if the engine has already done so
	w.full = w.full || noRoom(err)
	w.group.err = err
	w.settle()
}

// settle lets the members of the group return.
func (w *writer) settle() {
	if w.group.late != nil {
		w.group.late.Stop()
	}
	close(w.group.settled)
	w.group, w.ended = nil, time.Now()
}

// close writes the log back into the file and closes the connection. No update
// may be running.
func (w *writer) close() error {
	_, err := w.conn.exec("PRAGMA wal_checkpoint(TRUNCATE)")
	return errors.Join(err, w.conn.close())
}
