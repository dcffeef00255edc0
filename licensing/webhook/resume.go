package webhook

import (
	"context"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/feed"
)

// resume resets the cursor of a webhook that becomes active. Its position may be above
// the newest event, if the feed has lost events without it; from now on is then after
// the newest event, too.
func (tx *transaction) resume(ctx context.Context, rec *webhookRecord, from api.ResumeFrom) error {
	newest, err := feed.Newest(ctx, tx)
	if err != nil {
		return err
	}
	return tx.editCursor(ctx, *rec, func(cursor *hookCursor) {
		cursor.breaker = breaker{}
		if from == api.ResumeFromNow {
			rec.Skipped += max(0, newest.Seq()-cursor.Position)
			cursor.Position = newest.Seq()
		}
	})
}
