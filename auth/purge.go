package auth

import (
	"context"
	"fmt"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

// purgeBatch is how many entries of expired tokens one Update removes.
const purgeBatch = 100

// Purge removes a small batch of expired tokens and reports whether there may
// be more. Expired tokens have no effect, so calling Purge only saves space. The Run
// method of the licensing handler calls it.
func (a *Auth) Purge(ctx context.Context) (more bool, err error) {
	// The range excludes its end; times are stored in milliseconds.
	q := store.EntryQuery{Kind: kindToken, Order: store.ByExpiry, Expires: store.TimeRange{Before: a.now().Add(time.Millisecond)}, Limit: purgeBatch}
	// Look before the update, so that a call that finds none does not take the
	// write lock.
	entries, err := a.st.Entries(ctx, q)
	if err == nil && len(entries) > 0 {
		err = a.st.Update(ctx, func(tx store.Tx) error {
			if entries, err = tx.Entries(ctx, q); err != nil || len(entries) == 0 {
				return err
			}
			keys := make([]string, len(entries))
			removed := map[string]int{} // by client
			for i, e := range entries {
				_, size := readTokens(e)
				keys[i] = e.Key
				removed[e.Owner] += size
			}
			for clientID, n := range removed {
				if err := changeTokenCount(ctx, tx, clientID, -n); err != nil {
					return err
				}
			}
			return tx.DeleteEntries(ctx, kindToken, keys...)
		})
	}
	if err != nil {
		return false, fmt.Errorf("auth: purge: %w", err)
	}
	return len(entries) == purgeBatch, nil
}
