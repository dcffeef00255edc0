package feed

import (
	"context"
	"crypto/rand"
	"errors"
	"sync"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

const (
	leaseKind = "lease" // kind of entries for work that one process does at a time
	leaseTTL  = 30 * time.Second
)

// newHolder returns a new name for a lease holder.
func newHolder() string { return rand.Text() }

func putLease(ctx context.Context, tx store.Tx, key, holder string, now time.Time) error {
	return tx.PutEntries(ctx, store.Entry{Kind: leaseKind, Key: key, Data: []byte(holder), ExpiresAt: now.Add(leaseTTL), CreatedAt: now, Move: store.Passing})
}

// isOver reports whether a lease has expired or was acquired in the future.
func isOver(lease store.Entry, now time.Time) bool {
	return !now.Before(lease.ExpiresAt) || lease.CreatedAt.After(now.Add(leaseTTL))
}

// release releases a lease if it is still held.
func (e *Engine) release(ctx context.Context, key, holder string) error {
	return e.Store.Update(ctx, func(tx store.Tx) error {
		lease, err := tx.Entry(ctx, leaseKind, key)
		if errors.Is(err, store.ErrNotFound) || err == nil && string(lease.Data) != holder {
			return nil
		}
		if err != nil {
			return err
		}
		return tx.DeleteEntries(ctx, leaseKind, key)
	})
}

// A Lease lets one process at a time do some work. An idle holder lets it
// expire. It is safe for concurrent use.
type Lease struct {
	engine *Engine
	key    string
	holder string

	mu    sync.Mutex
	until time.Time // when it expires, as far as this process knows; zero: unknown
	ever  bool      // held at any time
}

// NewLease returns the lease with a key. The end of the Run releases it.
func (r *Run) NewLease(key string) *Lease {
	l := &Lease{engine: r.engine, key: key, holder: newHolder()}
	r.ends = append(r.ends, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if !l.ever {
			return
		}
		if err := l.engine.release(r.Work, l.key, l.holder); err != nil && r.Work.Err() == nil {
			l.engine.Logger.WarnContext(r.Work, "licensing: releasing a lease failed; it expires", "lease", l.key, "error", err)
		}
	})
	return l
}

// Hold acquires the lease, or extends it if a third of its time has passed. If
// another process holds it, Hold returns false and how long it still does.
// Fresh reports that another process may have held it since the last call.
func (l *Lease) Hold(ctx context.Context) (held, fresh bool, wait time.Duration, err error) {
	return l.hold(ctx, true)
}

// hold extends the lease and, if it may, acquires it.
func (l *Lease) hold(ctx context.Context, acquire bool) (held, fresh bool, wait time.Duration, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.engine.now()
	if left := l.until.Sub(now); left > leaseTTL*2/3 && left <= leaseTTL {
		return true, false, 0, nil
	}
	if lease, err := l.engine.Store.Entry(ctx, leaseKind, l.key); err == nil && string(lease.Data) != l.holder && !isOver(lease, now) {
		l.until = time.Time{}
		return false, false, lease.ExpiresAt.Sub(now), nil
	}
	err = l.engine.Store.Update(ctx, func(tx store.Tx) error {
		fresh, now = false, l.engine.now()
		lease, err := tx.Entry(ctx, leaseKind, l.key)
		switch {
		case errors.Is(err, store.ErrNotFound):
			fresh, err, held = true, nil, acquire
		case err == nil && string(lease.Data) != l.holder:
			fresh, held = true, acquire && isOver(lease, now)
		default:
			held = true
		}
		if err != nil || !held {
			return err
		}
		return putLease(ctx, tx, l.key, l.holder, now)
	})
	if err != nil || !held {
		l.until = time.Time{}
		return false, false, leaseTTL, err
	}
	l.until, l.ever = now.Add(leaseTTL), true
	return true, fresh, 0, nil
}

// Check reports, within an Update, whether no other process has acquired the
// lease since Hold returned true.
func (l *Lease) Check(ctx context.Context, tx store.Tx) (bool, error) {
	lease, err := tx.Entry(ctx, leaseKind, l.key)
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	return string(lease.Data) == l.holder, err
}

// Recheck makes the next Hold read the lease, because Check returned false.
func (l *Lease) Recheck() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.until = time.Time{}
}

// Keep extends the lease until stop is called. The context ends when the lease is lost, or
// has expired because the store does not answer.
func (l *Lease) Keep(ctx context.Context) (under context.Context, stop func()) {
	under, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		until := time.Now().Add(leaseTTL * 2 / 3)
		for Pause(under, leaseTTL/3); under.Err() == nil; Pause(under, leaseTTL/3) {
			var held bool
			err := l.engine.contain(ctx, "lease:"+l.key, func() (err error) {
				held, _, _, err = l.hold(ctx, false)
				return err
			})
			switch {
			case held:
				until = time.Now().Add(leaseTTL)
				continue
			case err == nil || !time.Now().Before(until):
				cancel()
			}
			if err != nil && ctx.Err() == nil {
				l.engine.Logger.WarnContext(ctx, "licensing: extending a lease failed; retrying", "lease", l.key, "error", err)
				l.engine.observeStoreError(ctx, "lease:"+l.key, err)
			}
		}
	}()
	return under, func() { cancel(); <-done }
}
