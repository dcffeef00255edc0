package auth

import (
	"context"
	"fmt"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/store"
)

// DeleteClient removes a client and its secrets and appends client.deleted with
// the last state of the client. Its tokens end immediately in this process, and
// within one second in others. DeleteClient returns [api.ErrNotFound] if there is
// no such client.
func (a *Auth) DeleteClient(ctx context.Context, id string) error {
	now := a.now()
	err := a.st.Update(ctx, func(tx store.Tx) error {
		c, err := clientByID(ctx, tx, id)
		if err != nil {
			return err
		}
		c.dropExpired(now)
		c.UpdatedAt = now
		if err := tx.DeleteEntries(ctx, kindClient, id); err != nil {
			return err
		}
		// Purging the tokens does not count them then.
		if err := tx.DeleteEntries(ctx, kindTokenCount, id); err != nil {
			return err
		}
		return a.appendEvent(ctx, tx, api.EventClientDeleted, c, nil)
	})
	a.cache.flush()
	if err != nil {
		return fmt.Errorf("auth: delete client: %w", err)
	}
	return nil
}
