package auth

import (
	"context"
	"fmt"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

// ending are the kinds of entries that end by themselves and are not counted.
// Tokens end too, and are.
var ending = []string{kindSession, kindForm, kindSignIn, kindSetup, kindInvite}

// Purge removes a small batch of what has ended: tokens, sessions, forms,
// failed attempts, set-up codes and invitations. It reports whether there may be more.
// Issuing tokens does it for tokens by itself; nothing that is answered
// depends on it.
func (a *Auth) Purge(ctx context.Context) (more bool, err error) {
	now := a.now()
	err = a.st.Update(ctx, func(tx store.Tx) error {
		count := tokenCount{}
		if more, err = count.purge(ctx, tx, now); err != nil {
			return err
		}
		for _, kind := range ending {
			n, err := purgeKind(ctx, tx, kind, now)
			if err != nil {
				return err
			}
			more = more || n == purgeBatch
		}
		return count.add(ctx, tx)
	})
	if err != nil {
		return false, fmt.Errorf("auth: purge: %w", err)
	}
	return more, nil
}

// purgeKind removes some entries of a kind that have ended, and counts them.
func purgeKind(ctx context.Context, tx store.Tx, kind string, now time.Time) (int, error) {
	ended := store.TimeRange{Before: now.Add(time.Millisecond)}
	entries, err := tx.Entries(ctx, store.EntryQuery{Kind: kind, Expires: ended, Limit: purgeBatch})
	if err != nil {
		return 0, err
	}
	for _, e := range entries {
		if err := tx.DeleteEntry(ctx, kind, e.Key); err != nil {
			return 0, err
		}
	}
	return len(entries), nil
}
