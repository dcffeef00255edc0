package auth

import (
	"context"
	"fmt"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

// Purge removes a small batch of expired tokens and reports whether there may
// be more. Expired tokens have no effect, and issuing tokens removes some too,
// so calling Purge only saves space. The Run method of the licensing handler
// calls it.
func (a *Auth) Purge(ctx context.Context) (more bool, err error) {
	now := a.now()
	// Look for one before the update, so that a call that finds none does not
	// take the write lock.
	expired := store.TimeRange{Before: now.Add(time.Millisecond)}
	entries, err := a.st.Entries(ctx, store.EntryQuery{Kind: kindToken, Order: store.ByExpiry, Expires: expired, Limit: 1})
	if err == nil && len(entries) > 0 {
		err = a.st.Update(ctx, func(tx store.Tx) error {
			counts := tokenCounts{}
			if more, err = counts.purge(ctx, tx, now); err != nil {
				return err
			}
			return counts.put(ctx, tx)
		})
	}
	if err != nil {
		return false, fmt.Errorf("auth: purge: %w", err)
	}
	return more, nil
}
