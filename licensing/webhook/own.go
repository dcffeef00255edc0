package webhook

import (
	"context"
	"errors"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/feed"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/outbox"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store"
)

// laneEvents is how many events a lane of its own reads for a batch.
const laneEvents = 256

// drain sends in batches what is due in a lane: deliveries from the queue and,
// if the lane has its own position, events after it. It returns when nothing is
// due, the breaker opens, or ctx ends. The caller holds the slot.
func (l *lane) drain(ctx context.Context) error {
	stop := l.lease.Keep(l.Work)
	defer stop()
	for ctx.Err() == nil && !l.breaker.open(l.now()) {
		size := laneMost
		if l.breaker.trying() {
			size = 1
		}
		b, err := l.next(ctx, size)
		if err != nil || b == nil {
			return err
		}
		began := time.Now()
		b.send(ctx)
		if err := l.settle(ctx, []*batch{b}, nil); err != nil {
			return err
		}
		took := time.Since(began)
		l.mu.Lock()
		l.slow = took > l.patience/2
		l.mu.Unlock()
	}
	return nil
}

// next returns the next batch of a lane, with at most size deliveries, or nil if
// nothing is due.
func (l *lane) next(ctx context.Context, size int) (*batch, error) {
	rec, err := l.findWebhook(l.Work, l.store(), l.webhookID)
	if errors.Is(err, license.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	lane, err := readLane(l.Work, l.store(), rec, l.now())
	if err != nil {
		return nil, err
	}
	if rec.Status != StatusActive {
		return nil, l.rest(lane)
	}
	due, err := outbox.Due(l.Work, l.store(), l.webhookID, store.TimeRange{Before: dueBefore(l.now())}, size)
	if err != nil {
		return nil, err
	}
	if len(due) > 0 {
		b := &batch{lane: l}
		for _, d := range due {
			b.items = append(b.items, &sending{Delivery: d})
		}
		return b, nil
	}
	if !lane.Own {
		return nil, l.rest(lane)
	}
	events, err := l.store().Events(l.Work, store.EventQuery{After: lane.Position, Limit: laneEvents})
	if err != nil {
		return nil, err
	}
	if len(events) == 0 || events[0].Seq != lane.Position+1 {
		if skipped, err := l.skipPurged(ctx, lane.Position); skipped || err != nil {
			return &batch{lane: l}, err
		}
	}
	if len(events) == 0 {
		return nil, l.join(lane.Position)
	}
	b := l.newBatch(rec.webhook(l.now()), lane.Position, events[len(events)-1].Seq, events, l.now())
	if len(b.items) > size {
		b.items = b.items[:size]
		b.through = b.items[size-1].EventSeq
	}
	return b, nil
}

// skipPurged moves the position of a lane past events that retention removed, and
// counts them.
func (l *lane) skipPurged(ctx context.Context, position int64) (skipped bool, err error) {
	purged, err := feed.PurgedThrough(l.Work, l.store())
	if err != nil || purged <= position {
		return false, err
	}
	var lane laneRecord
	err = l.settling(func(tx *transaction) error {
		rec, err := l.findWebhook(l.Work, tx, l.webhookID)
		if err != nil {
			return err
		}
		if lane, err = readLane(l.Work, tx, rec, tx.now); err != nil || !lane.Own || lane.Position >= purged {
			return err
		}
		rec.Skipped += purged - lane.Position
		lane.Position, lane.UpdatedAt = purged, tx.now
		if err := tx.putWebhook(l.Work, rec); err != nil {
			return err
		}
		return putLane(l.Work, tx, l.webhookID, lane)
	})
	if err != nil {
		return false, err
	}
	l.set(lane)
	l.logger.WarnContext(ctx, "licensing: retention removed events before a webhook received them",
		"webhook_id", l.webhookID, "after_seq", position, "purged_through_seq", purged)
	return true, nil
}

// join puts a lane that has received all events into the shared one, unless the
// shared one is ahead.
func (l *lane) join(position int64) error {
	l.joining.Lock()
	defer l.joining.Unlock()
	return l.edit(func(tx *transaction, lane *laneRecord) error {
		shared, _, err := feed.ReadCursor(l.Work, tx, cursorKey)
		if err == nil && lane.Own && lane.Position == position && position >= max(shared, l.ahead) {
			lane.Own = false
		}
		return err
	})
}

// rest stores when work of a lane is due next, unless that is known.
func (l *lane) rest(lane laneRecord) error {
	if lane.Due.IsZero() || lane.Due.After(l.now()) {
		return nil
	}
	return l.edit(func(*transaction, *laneRecord) error { return nil })
}

// edit changes the stored lane, and stores when its work is due next.
func (l *lane) edit(change func(*transaction, *laneRecord) error) error {
	var lane laneRecord
	err := l.settling(func(tx *transaction) error {
		rec, err := l.findWebhook(l.Work, tx, l.webhookID)
		if errors.Is(err, license.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		if lane, err = readLane(l.Work, tx, rec, tx.now); err != nil {
			return err
		}
		if err := change(tx, &lane); err != nil {
			return err
		}
		if err := l.schedule(tx, rec.Status, &lane); err != nil {
			return err
		}
		return putLane(l.Work, tx, l.webhookID, lane)
	})
	if err == nil {
		l.set(lane)
	}
	return err
}
