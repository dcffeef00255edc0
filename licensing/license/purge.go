package license

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/outbox"
	"github.com/seed-d8a106b4/licensekit/store"
)

const (
	purgeBatch = 100 // records removed in one Update
	// leftKind is the kind of entries that name deleted webhooks whose
	// deliveries have yet to be removed.
	leftKind = "webhook_left"
)

// PurgeHistory removes a batch of old records: deliveries by
// WebhookOptions.DeliveryRetention, events by EventOptions.Retention, and
// the deliveries of deleted webhooks. It reports whether more may be left.
func (s *Service) PurgeHistory(ctx context.Context) (more bool, err error) {
	for _, purge := range []func(context.Context, *transaction) (int, error){s.purgeLeft, s.purgeDeliveries, s.skipPurged} {
		n, err := s.removeBatch(ctx, purge)
		if err != nil {
			return false, err
		}
		more = more || n > 0
	}
	through, err := s.lastUnneeded(ctx)
	if err != nil {
		return false, fmt.Errorf("purge history: %w", err)
	}
	if through.Seq == 0 {
		return more, nil
	}
	n, err := s.removeBatch(ctx, func(ctx context.Context, tx *transaction) (int, error) {
		return tx.purgeEvents(ctx, through)
	})
	return more || n > 0, err
}

// removeBatch removes one batch and returns its size.
func (s *Service) removeBatch(ctx context.Context, batch func(context.Context, *transaction) (int, error)) (n int, err error) {
	err = s.update(ctx, func(tx *transaction) (err error) {
		n, err = batch(ctx, tx)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("purge history: %w", err)
	}
	return n, nil
}

// purgeLeft removes deliveries of a deleted webhook.
func (s *Service) purgeLeft(ctx context.Context, tx *transaction) (int, error) {
	left, err := tx.Entries(ctx, store.EntryQuery{Kind: leftKind, Limit: 1})
	if err != nil || len(left) == 0 {
		return 0, err
	}
	deliveries, err := outbox.Newest(ctx, tx, left[0].Key, "", purgeBatch)
	if err != nil {
		return 0, err
	}
	if err := outbox.Delete(ctx, tx, deliveries); err != nil {
		return 0, err
	}
	if len(deliveries) < purgeBatch {
		return 1, tx.DeleteEntries(ctx, leftKind, left[0].Key)
	}
	return len(deliveries), nil
}

// purgeDeliveries removes finished deliveries that are older than their
// retention.
func (s *Service) purgeDeliveries(ctx context.Context, tx *transaction) (n int, err error) {
	old, err := outbox.Finished(ctx, tx, tx.now.Add(-s.opts.Webhooks.DeliveryRetention), purgeBatch)
	if err != nil {
		return 0, err
	}
	return len(old), outbox.Delete(ctx, tx, old)
}

// lastUnneeded returns the last of the oldest events that are past retention
// and that every consumer has received; its Seq is zero if there is none. It
// may read many deliveries, so it does not hold the write lock. That is
// safe: an event no longer needed never becomes needed again.
func (s *Service) lastUnneeded(ctx context.Context) (last store.Event, err error) {
	if s.opts.Events.Retention <= 0 {
		return store.Event{}, nil
	}
	before := s.now().Add(-s.opts.Events.Retention)
	err = s.view(ctx, func(r store.Reader) error {
		last = store.Event{}
		events, err := r.Events(ctx, store.EventQuery{Limit: purgeBatch + 1})
		if err != nil {
			return err
		}
		// The newest event stays: after a move, the feed of the new store must
		// not fall behind the cursors that move with it.
		old := 0
		for old < len(events)-1 && events[old].Time.Before(before) {
			old++
		}
		if old == 0 {
			return nil
		}
		needed, err := firstNeeded(ctx, r, events[old-1].Seq+1, before, s.now())
		if err != nil {
			return err
		}
		for _, e := range events[:old] {
			if e.Seq < needed {
				last = e
			}
		}
		return nil
	})
	return last, err
}

// firstNeeded returns the Seq of the first event before bound that webhooks,
// subscribers or pending deliveries still need. It ignores subscribers that
// have not run since the given instant, deliveries older than five days, and
// webhooks that are not active.
func firstNeeded(ctx context.Context, r store.Reader, bound int64, since, now time.Time) (int64, error) {
	cursors, err := r.Entries(ctx, store.EntryQuery{Kind: store.KindCursor})
	if err != nil {
		return 0, err
	}
	for _, c := range cursors {
		if c.Key != WebhookCursor && c.CreatedAt.Before(since) {
			continue
		}
		seq, err := strconv.ParseInt(string(c.Data), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("cursor %s: %w", c.Key, err)
		}
		bound = min(bound, seq+1)
	}
	active, err := webhooksWith(ctx, r, func(s WebhookStatus) bool { return s == WebhookActive })
	if err != nil {
		return 0, err
	}
	for _, id := range active {
		var last outbox.Delivery
		for more := true; more; {
			pending, err := outbox.Pending(ctx, r, id, last, store.MaxLimit)
			if err != nil {
				return 0, err
			}
			for _, d := range pending {
				if last = d; !d.CreatedAt.Before(now.Add(-failingFor)) {
					bound = min(bound, d.EventSeq)
				}
			}
			more = len(pending) == store.MaxLimit
		}
	}
	return bound, nil
}

// webhooksWith returns the IDs of the webhooks whose status matches.
func webhooksWith(ctx context.Context, r store.Reader, match func(WebhookStatus) bool) (ids []string, err error) {
	entries, err := r.Entries(ctx, store.EntryQuery{Kind: webhookKind})
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		var rec webhookRecord
		if err := decode(e.Data, &rec); err != nil {
			return nil, fmt.Errorf("webhook %s: %w", e.Key, err)
		}
		if match(rec.Status) {
			ids = append(ids, e.Key)
		}
	}
	return ids, nil
}

// skippedError is the attempt error of a delivery whose event was purged.
const skippedError = "skipped: the event is no longer kept"

// skipPurged fails deliveries to paused and disabled webhooks whose events
// were purged. They stay in the history, and the log reports their number.
func (s *Service) skipPurged(ctx context.Context, tx *transaction) (int, error) {
	purged, err := readPurged(ctx, tx)
	if err != nil || purged.seq == 0 {
		return 0, err
	}
	idle, err := webhooksWith(ctx, tx, func(s WebhookStatus) bool { return s != WebhookActive })
	if err != nil {
		return 0, err
	}
	skipped := 0
	for _, id := range idle {
		due, err := outbox.Due(ctx, tx, id, store.TimeRange{Before: tx.now}, purgeBatch)
		if err != nil {
			return 0, err
		}
		before := skipped
		for _, d := range due {
			if d.EventSeq > purged.seq {
				continue
			}
			var data DeliveryData
			if err := decode(d.Data, &data); err != nil {
				return 0, fmt.Errorf("delivery %s: %w", d.ID, err)
			}
			data.Attempts = append(data.Attempts, Attempt{At: tx.now, Error: skippedError})
			d.State, d.DueAt, d.UpdatedAt, d.Data = string(DeliveryFailed), time.Time{}, tx.now, encode(data)
			if err := outbox.Put(ctx, tx, d); err != nil {
				return 0, err
			}
			skipped++
		}
		if n := skipped - before; n > 0 {
			s.opts.Logger.WarnContext(ctx, "licensing: retention removed events before a webhook received them", "webhook_id", id, "skipped", n)
		}
	}
	return skipped, nil
}
