package webhook

import (
	"context"
	"fmt"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/feed"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/outbox"
	"github.com/seed-d8a106b4/licensekit/store"
)

const (
	purgeBatch = 100 // records removed in one Update
	// leftKind is the kind of entries that name deleted webhooks whose
	// deliveries have yet to be removed.
	leftKind = "webhook_left"
)

// purge removes a batch of old deliveries: finished ones by
// Options.DeliveryRetention, and those of deleted webhooks. It also fails
// those whose events were purged, and reports whether more may be left.
func (s *Service) purge(ctx context.Context) (more bool, err error) {
	for _, purge := range []func(context.Context, *transaction) (int, error){s.purgeLeft, s.purgeDeliveries, s.skipPurged} {
		n, err := s.removeBatch(ctx, purge)
		if err != nil {
			return false, err
		}
		more = more || n > 0
	}
	return more, nil
}

// removeBatch removes one batch and returns its size.
func (s *Service) removeBatch(ctx context.Context, batch func(context.Context, *transaction) (int, error)) (n int, err error) {
	err = s.update(ctx, func(tx *transaction) (err error) {
		n, err = batch(ctx, tx)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("purge deliveries: %w", err)
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
	old, err := outbox.Finished(ctx, tx, tx.now.Add(-s.opts.DeliveryRetention), purgeBatch)
	if err != nil {
		return 0, err
	}
	return len(old), outbox.Delete(ctx, tx, old)
}

// skippedError is the attempt error of a delivery whose event was purged.
const skippedError = "skipped: the event is no longer kept"

// skipPurged fails deliveries to paused and disabled webhooks whose events
// were purged. They stay in the history, and the log reports their number.
func (s *Service) skipPurged(ctx context.Context, tx *transaction) (int, error) {
	purged, err := feed.ReadPurged(ctx, tx)
	if err != nil || purged.Seq() == 0 {
		return 0, err
	}
	all, err := readAll(ctx, tx)
	if err != nil {
		return 0, err
	}
	skipped := 0
	for _, rec := range all {
		id := rec.ID
		if rec.Status == StatusActive {
			continue
		}
		due, err := outbox.Due(ctx, tx, id, store.TimeRange{Before: tx.now}, purgeBatch)
		if err != nil {
			return 0, err
		}
		before := skipped
		for _, d := range due {
			if d.EventSeq > purged.Seq() {
				continue
			}
			var data deliveryData
			if err := readData(d.Data, &data); err != nil {
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
			s.logger.WarnContext(ctx, "licensing: retention removed events before a webhook received them", "webhook_id", id, "skipped", n)
		}
	}
	return skipped, nil
}

// needs returns the Seq of the first event before bound that a pending
// delivery to an active webhook needs, or bound. It ignores deliveries older
// than five days.
func (s *Service) needs(ctx context.Context, r store.Reader, bound int64) (int64, error) {
	all, err := readAll(ctx, r)
	if err != nil {
		return 0, err
	}
	for _, rec := range all {
		if rec.Status != StatusActive {
			continue
		}
		var last outbox.Delivery
		for more := true; more; {
			pending, err := outbox.Pending(ctx, r, rec.ID, last, store.MaxLimit)
			if err != nil {
				return 0, err
			}
			for _, d := range pending {
				if last = d; !d.CreatedAt.Before(s.now().Add(-failingFor)) {
					bound = min(bound, d.EventSeq)
				}
			}
			more = len(pending) == store.MaxLimit
		}
	}
	return bound, nil
}
