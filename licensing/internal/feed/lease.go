package feed

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

const (
	leaseKind = "lease" // kind of entries for work that one process does at a time
	leaseTTL  = 30 * time.Second
)

// newHolder returns a new name for a lease holder.
func newHolder() string { return rand.Text() }

// hold acquires or extends a lease. It returns false if another holder has it.
func (e *Engine) hold(ctx context.Context, key, holder string) (held bool, err error) {
	err = e.Store.Update(ctx, func(tx store.Tx) error {
		now := e.now()
		if held, err = isHolder(ctx, tx, key, holder, now); err != nil || !held {
			return err
		}
		return tx.PutEntries(ctx, store.Entry{Kind: leaseKind, Key: key, Data: []byte(holder), ExpiresAt: now.Add(leaseTTL), CreatedAt: now, Move: store.Passing})
	})
	return held && err == nil, err
}

// isHolder reports whether no other holder has a lease. A lease acquired in the
// future was acquired while a clock was ahead and does not count.
func isHolder(ctx context.Context, r store.Reader, key, holder string, now time.Time) (bool, error) {
	lease, err := r.Entry(ctx, leaseKind, key)
	if errors.Is(err, store.ErrNotFound) {
		return true, nil
	}
	expired := !now.Before(lease.ExpiresAt) || lease.CreatedAt.After(now.Add(leaseTTL))
	return string(lease.Data) == holder || expired, err
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
