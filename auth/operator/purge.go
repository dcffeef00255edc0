package operator

import (
	"context"
	"fmt"

	"github.com/seed-d8a106b4/licensekit/internal/entries"
)

// Purge removes a small batch of expired records: sessions, counters of failed
// attempts, setup codes and invitations. It reports whether there may be more.
// Expired records have no effect, so Purge only saves space.
func (i internals) Purge(ctx context.Context) (more bool, err error) {
	more, err = entries.Purge(ctx, i.st, i.now(), kindSession, kindSignIn, kindSetup, kindInvitation)
	if err != nil {
		return false, fmt.Errorf("operator: purge: %w", err)
	}
	return more, nil
}
