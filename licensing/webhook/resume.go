package webhook

import (
	"context"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/core/feed"
)

// resume resets the cursor of a webhook that becomes active.
func (tx *transaction) resume(ctx context.Context, rec *webhookRecord, from ResumeFrom) error {
	newest, err := feed.Newest(ctx, tx)
	if err != nil {
		return err
	}
	return tx.editCursor(ctx, *rec, func(cursor *hookCursor) {
		cursor.breaker = breaker{}
		if from == ResumeFromNow && newest > cursor.Position {
			rec.Skipped += newest - cursor.Position
			cursor.Position = newest
		}
	})
}
