package webhook

import (
	"context"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/core/feed"
)

// A ResumeFrom says which events a webhook receives when it becomes active
// again.
type ResumeFrom string

// The events that a webhook may resume from.
const (
	// ResumeFromStop: those since it was paused or disabled that are still
	// kept, and then new ones. It is the default.
	ResumeFromStop ResumeFrom = "stop"
	// ResumeFromNow: new events only. The others count as skipped. Deliveries
	// that were already attempted, tests and resends are sent nevertheless.
	ResumeFromNow ResumeFrom = "now"
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
