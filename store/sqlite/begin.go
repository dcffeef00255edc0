package sqlite

import (
	"context"
	"time"
)

// begin starts the transaction of an update that was called at began. The update
// waits for another process as long as patience says. The time in the queue counts
// only if the updates before it waited for another process too.
func (w *writer) begin(ctx context.Context, began time.Time) error {
	w.giveWay()
	if w.blocked.IsZero() {
		w.blocked = time.Now()
	}
	if w.blocked.After(began) {
		began = w.blocked
	}
	waited, err := begin(ctx, w.conn, began.Add(w.patience))
	if waited {
		w.waited = time.Now()
		w.turn = w.waited
	}
	if !busy(err) && ctx.Err() == nil {
		w.blocked = time.Time{}
	}
	return err
}

// maxTurn is how long a process that writes without a gap may keep another one
// waiting that does too. In a shorter turn, more of the time goes into reading pages
// that the other has changed.
const maxTurn = 10 * time.Millisecond

// giveWay leaves a gap after the last transaction if it is another process's turn.
// The engine lets processes wait in no order: one that retries would meet the moment
// between two transactions by chance.
func (w *writer) giveWay() {
	if time.Since(w.waited) < 5*maxTurn && time.Since(w.turn) >= maxTurn {
		time.Sleep(time.Until(w.ended.Add(3 * retryEvery / 2)))
		w.turn = time.Now()
	}
}

// begin starts a transaction that may write, and reports whether it waited for another
// process.
func begin(ctx context.Context, c *conn, deadline time.Time) (waited bool, err error) {
	return patiently(ctx, deadline, func() error {
		_, err := c.exec("BEGIN IMMEDIATE")
		return err
	})
}

// retryEvery is the time between two attempts to get the lock. It is short, because
// a process under load releases the lock only for moments.
const retryEvery = time.Millisecond

// patiently calls try until no other process has the lock, or until ctx or the
// deadline ends, and reports whether it waited.
func patiently(ctx context.Context, deadline time.Time, try func() error) (waited bool, err error) {
	for {
		err := try()
		if !busy(err) || !time.Now().Before(deadline) {
			return waited, err
		}
		waited = true
		select {
		case <-time.After(retryEvery):
		case <-ctx.Done():
			return waited, ctx.Err()
		}
	}
}
