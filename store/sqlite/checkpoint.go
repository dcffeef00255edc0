package sqlite

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

const (
	// logPages is how many pages the log has when it is written back into the
	// file. Pages that change often are then written back once instead of ten
	// times.
	logPages = 8000
	// maxLogPages is for a log that grows faster than it is written back: the
	// engine then does it during a commit, and the updates wait.
	maxLogPages = 2 * logPages
	// lastPages is how many pages may be left for the last step, and by how many
	// the log must grow after a failed attempt before the next.
	lastPages = 500
	// lastPasses is how many passes with few pages left precede the last step.
	lastPasses = 4
	// statementsPerLook is how many statements may write between two looks at
	// the length of the log. The longest of them change some hundred pages.
	statementsPerLook = 64
)

// A checkpointer writes the log back into the file beside updates. The engine
// would do all of it during a commit, and meanwhile every update would wait.
//
// The log is used again from its beginning only if all of it is in the file when
// an update begins. A checkpoint beside updates never gets there, because they add
// to the log meanwhile. So the last step, which is short, takes the write lock.
type checkpointer struct {
	views *pool
	long  int64 // how many pages the log has when it is written back

	running atomic.Bool
	all     sync.WaitGroup
	beside  sync.Mutex // held during a checkpoint without the write lock

	// For the update that has the write lock.
	wrote int   // statements since the last look
	tried int64 // how many pages the log had when the last attempt failed; zero: it did not
}

// look starts a checkpoint if the log is long. Call it with the write lock and
// outside a transaction.
func (w *writer) look() {
	if w.wrote < statementsPerLook {
		return
	}
	w.wrote = 0
	if w.running.Load() || w.guard.logSize.Load() < w.long<<12 {
		return
	}
	log, back, err := w.conn.checkpoint("NOOP")
	if err != nil || log < w.long || log-back < lastPages || log >= w.tried && log < w.tried+lastPages {
		return
	}
	w.running.Store(true)
	w.all.Go(func() {
		defer w.running.Store(false)
		w.writeBack()
	})
}

// writeBack writes the log back. If it fails, for instance because a View needs
// the log, the log grows, and a later attempt follows.
func (w *writer) writeBack() {
	if w.guard.check() != nil {
		return
	}
	w.writeBackBeside()
	if w.lock(context.Background(), false) != nil {
		return
	}
	defer w.unlock()
	if w.group != nil {
		w.commit()
	}
	log, back, err := w.conn.checkpoint("PASSIVE")
	if w.tried = 0; err != nil || back < log {
		w.tried = log
	}
}

// writeBackBeside writes back what it can without the write lock, until little
// is left or it fails.
//
// A pass flushes the file only if no update commits while it copies pages. If none
// did, the last step would have to flush all that was written, and every update
// would wait for the disk. A pass that copies few pages is short, so one of some
// passes is likely to flush. If nothing is left after a pass, it has.
func (w *writer) writeBackBeside() {
	c, err := w.views.take(context.Background())
	if err != nil {
		return
	}
	defer w.views.put(c)
	w.beside.Lock()
	defer w.beside.Unlock()
	for pass, few := 0, 0; pass < 2*lastPasses && few < lastPasses; pass++ {
		if _, _, err := c.checkpoint("PASSIVE"); err != nil {
			return
		}
		log, back, err := c.checkpoint("NOOP")
		if err != nil || back == log {
			return
		}
		if log-back < lastPages {
			few++
		}
	}
}

// Checkpoint writes the log back into the file and empties it. Call it after
// [license.Service.EraseCustomer]: what was erased is in neither of the two then. The
// engine overwrites what it deletes with zeros, but only in the log, until it is
// written back. [Store.Close] does the same.
//
// The log cannot be emptied while a View or another process needs it. Checkpoint
// waits for at most [Options.BusyTimeout], and then returns an error that wraps
// [store.ErrUnavailable]. Do not call it in a function passed to View or Update.
//
// [license.Service.EraseCustomer]: https://pkg.go.dev/github.com/seed-d8a106b4/licensekit/licensing/license#Service.EraseCustomer
func (s *Store) Checkpoint(ctx context.Context) error {
	if err := s.enter(ctx); err != nil {
		return wrap(err, "checkpoint")
	}
	defer s.leave()
	return wrap(s.writer.empty(ctx), "checkpoint")
}

// errLogInUse means that the log could not be emptied.
var errLogInUse = fmt.Errorf("%w: a View or another process needs the log", store.ErrUnavailable)

// empty writes the log back and truncates it.
func (w *writer) empty(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, w.patience, errLogInUse)
	defer cancel()
	for {
		if err := w.guard.check(); err != nil {
			return err
		}
		w.writeBackBeside()
		if err := w.lock(ctx, false); err != nil {
			return context.Cause(ctx)
		}
		if w.group != nil {
			w.commit()
		}
		log, _, err := w.conn.checkpoint("TRUNCATE")
		done := err == nil && log == 0
		if done {
			w.tried = 0
		}
		w.unlock()
		if done || err != nil && !busy(err) {
			return sentinel(err)
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// checkpoint runs a checkpoint, or with NOOP none, and returns how many pages the
// log has and how many of them are in the file.
func (c *conn) checkpoint(mode string) (log, back int64, err error) {
	err = c.query(context.Background(), "PRAGMA wal_checkpoint("+mode+")", nil, func(r *row) {
		r.next = 1 // the first says whether it was blocked
		log, back = r.integer(), r.integer()
	})
	return log, back, err
}
