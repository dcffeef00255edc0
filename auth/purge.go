package auth

import (
	"context"
	"fmt"

	"github.com/seed-d8a106b4/licensekit/internal/entries"
	"github.com/seed-d8a106b4/licensekit/store"
)

// Purge removes a small batch of expired tokens and reports whether there may
// be more. Expired tokens have no effect, so calling Purge only saves space. The Run
// method of the licensing handler calls it.
func (a *Auth) Purge(ctx context.Context) (more bool, err error) {
	now := a.now()
	// Look for one before the update, so that a call that finds none does not
	// take the write lock.
	found, err := a.st.Entries(ctx, entries.Expired(kindToken, now, 1))
	if err == nil && len(found) > 0 {
		err = a.st.Update(ctx, func(tx store.Tx) error {
			if found, err = tx.Entries(ctx, entries.Expired(kindToken, now, entries.PurgeBatch)); err != nil || len(found) == 0 {
				return err
			}
			keys := make([]string, len(found))
			removed := map[string]int{} // by client
			for i, e := range found {
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
	return len(found) == entries.PurgeBatch, nil
}
