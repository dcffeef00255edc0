package sqlite

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

// A writer has the connection for writing, and gives it to one update after
// another. Updates that follow each other without a gap are a group: they
// share a transaction, each in a savepoint of its own, and the last one in
// line commits for all. Whoever has the turn uses conn and group; nothing
// waits for a timer.
type writer struct {
	conn     *conn
	guard    *guard
	patience time.Duration // how long an update waits for another process

	// A group takes no more members when it is that large or that old, so
	// that the first ones get their answer.
	maxMembers int
	maxAge     time.Duration

	mu   sync.Mutex
	held bool            // somebody has the turn
	line []chan struct{} // those who wait for it; closing one gives it the turn

	group *group // of the transaction that is open; nil: none is
	full  bool   // there was no room on the disk, and the log was not written back since
}

// A group is the updates that share a transaction.
type group struct {
	began   time.Time
	members int
	alone   bool // takes no second member

	settled chan struct{} // closed once the transaction is over
	err     error         // set before that: why nothing of it was kept
	unknown bool          // set before that: err does not say whether it was kept
}

// errAgain is the answer to an update that was undone through no fault of its
// own, or that may have been, or that found the disk full.
var errAgain = errors.New("undone together with others")

func newWriter(c *conn, patience time.Duration, g *guard) *writer {
	return &writer{conn: c, guard: g, patience: patience, maxMembers: 128, maxAge: 5 * time.Millisecond}
}

// update runs fn in a savepoint and returns when its group is settled: fn's
// error too is an answer only then, because it may rest on what other members
// wrote. If the transaction was lost, an update that shared it returns
// errAgain; one that was alone in it, by asking for that, returns the reason.
func (w *writer) update(ctx context.Context, fn func(store.Tx) error, alone bool) error {
	deadline := time.Now().Add(w.patience)
	if err := w.take(ctx); err != nil {
		return wrap(err, "update")
	}
	g, err := w.join(ctx, deadline, alone)
	if err != nil {
		w.give()
		return wrap(err, "update")
	}
	err = w.run(fn, alone)
	culprit := w.group != g
	w.give()
	if culprit {
		return err
	}
	<-g.settled
	switch {
	case g.err == nil:
		return err
	case alone || g.unknown:
		return wrap(sentinel(g.err), "commit")
	default:
		return errAgain
	}
}

// run calls fn in a savepoint, and keeps or undoes what it wrote. If that
// cannot be done, because the engine has given up the transaction, the whole
// group is undone.
func (w *writer) run(fn func(store.Tx) error, alone bool) (err error) {
	if _, err := w.conn.exec("SAVEPOINT member"); err != nil {
		w.abandon(err)
		return wrap(sentinel(err), "update")
	}
	t := newTx(w.conn)
	unwinding := true
	defer func() {
		t.over.Store(true)
		if unwinding { // fn panicked or called runtime.Goexit, and its caller is not coming back
			w.keep(false)
			w.give()
		}
	}()
	err = fn(t)
	unwinding = false
	if err == nil {
		err = t.err // fn may have overlooked it
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

// keep ends the savepoint of the update that has the turn.
func (w *writer) keep(ok bool) (err error) {
	if !ok {
		_, err = w.conn.exec("ROLLBACK TO member")
	}
	if err == nil {
		_, err = w.conn.exec("RELEASE member")
	}
	if err != nil { // there is no such savepoint: the transaction is gone
		w.abandon(err)
	}
	return err
}

// take waits for the turn, at most until ctx ends.
func (w *writer) take(ctx context.Context) error {
	w.mu.Lock()
	if !w.held {
		w.held = true
		w.mu.Unlock()
		return nil
	}
	turn := make(chan struct{})
	w.line = append(w.line, turn)
	w.mu.Unlock()

	select {
	case <-turn:
		return nil
	case <-ctx.Done():
	}
	w.mu.Lock()
	i := slices.Index(w.line, turn)
	if i >= 0 {
		w.line = slices.Delete(w.line, i, i+1)
	}
	w.mu.Unlock()
	if i < 0 { // the turn came at the same moment; somebody must go on from here
		w.give()
	}
	return ctx.Err()
}

// give gives the turn to the next in line, if there is one and the group may
// take it. Otherwise it commits first.
func (w *writer) give() {
	for {
		w.mu.Lock()
		switch {
		case len(w.line) > 0 && !w.group.full(w):
			next := w.line[0]
			w.line = slices.Delete(w.line, 0, 1)
			w.mu.Unlock()
			close(next)
			return
		case w.group == nil:
			w.held = false
			w.mu.Unlock()
			return
		}
		w.mu.Unlock()
		w.commit()
	}
}

// full reports whether the group may take no further member. No group is never
// full: a new one begins.
func (g *group) full(w *writer) bool {
	return g != nil && (g.alone || g.members >= w.maxMembers || time.Since(g.began) >= w.maxAge)
}

// join makes the update that has the turn a member of the group, or of a new
// one if there is none or it wants to be alone.
func (w *writer) join(ctx context.Context, deadline time.Time, alone bool) (*group, error) {
	if alone && w.group != nil {
		w.commit()
	}
	if w.group == nil {
		if alone && w.full {
			// Writing the log back into the file makes room in the log. If
			// that fails, so does the update.
			w.conn.exec("PRAGMA wal_checkpoint(TRUNCATE)")
			w.full = false
		}
		if err := w.guard.check(); err != nil {
			return nil, err
		}
		if err := begin(ctx, w.conn, deadline); err != nil {
			return nil, sentinel(err)
		}
		w.group = &group{began: time.Now(), alone: alone, settled: make(chan struct{})}
	}
	w.group.members++
	return w.group, nil
}

// commit makes durable what the group wrote, and makes sure that it is in the
// file that the next start opens.
func (w *writer) commit() {
	if _, err := w.conn.exec("COMMIT"); err != nil {
		w.abandon(err)
		return
	}
	if err := w.guard.check(); err != nil {
		w.group.err, w.group.unknown = fmt.Errorf("%w: %v", store.ErrUnknownOutcome, err), true
	}
	close(w.group.settled)
	w.group = nil
}

// abandon undoes the whole group.
func (w *writer) abandon(err error) {
	w.conn.exec("ROLLBACK") // an error only if the engine has already done so
	w.full = w.full || noRoom(err)
	w.group.err = err
	close(w.group.settled)
	w.group = nil
}

// close writes the log back into the file and closes the connection. Nobody
// may have the turn.
func (w *writer) close() error {
	_, err := w.conn.exec("PRAGMA wal_checkpoint(TRUNCATE)")
	return errors.Join(err, w.conn.close())
}

// begin starts a transaction that may write.
func begin(ctx context.Context, c *conn, deadline time.Time) error {
	return patiently(ctx, deadline, func() error {
		_, err := c.exec("BEGIN IMMEDIATE")
		return err
	})
}

// patiently calls try until it returns something else than that another
// process has the lock, or until ctx or the deadline ends. It asks often: a
// process under load lets go of the lock only for moments.
func patiently(ctx context.Context, deadline time.Time, try func() error) error {
	for {
		err := try()
		if !busy(err) || !time.Now().Before(deadline) {
			return err
		}
		select {
		case <-time.After(time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
