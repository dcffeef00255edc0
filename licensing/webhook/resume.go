package webhook

import (
	"context"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/core/feed"
)

// resume starts the lane of a webhook that becomes active.
func (tx *transaction) resume(ctx context.Context, rec *webhookRecord, from ResumeFrom) error {
	newest, err := feed.Newest(ctx, tx)
	if err != nil {
		return err
	}
	return tx.editLane(ctx, *rec, func(lane *laneRecord) {
		lane.breaker = breaker{}
		if from == ResumeFromNow && newest > lane.Position {
			rec.Skipped += newest - lane.Position
			lane.Position = newest
		}
	})
}
