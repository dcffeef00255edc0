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
	// leftKind is the kind of entries that name webhooks which are gone and
	// have left deliveries.
	leftKind = "webhook_left"
)

// PurgeHistory removes a batch of what is no longer kept: deliveries by
// WebhookOptions.DeliveryRetention, events by EventOptions.Retention, and what is
// left of webhooks that were deleted. It reports whether there may be more.
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

// removeBatch removes one batch, and counts it.
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

// purgeLeft removes what was under way to a webhook that is gone.
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

// purgeDeliveries removes deliveries that are over and were made too long ago.
// Those that are not over stay.
func (s *Service) purgeDeliveries(ctx context.Context, tx *transaction) (n int, err error) {
	old, err := outbox.Finished(ctx, tx, tx.now.Add(-s.opts.Webhooks.DeliveryRetention), purgeBatch)
	if err != nil {
		return 0, err
	}
	return len(old), outbox.Delete(ctx, tx, old)
}

// lastUnneeded returns the last of the oldest events that are too old
// and that nobody has yet to get; its Seq is zero if there is none. It may have to look
// through many deliveries, and keeps nobody from writing meanwhile: what is no
// longer needed does not become so again.
func (s *Service) lastUnneeded(ctx context.Context) (last store.Event, err error) {
	if s.opts.Events.Retention <= 0 {
		return store.Event{}, nil
	}
	before := s.now().Add(-s.opts.Events.Retention)
	err = s.view(ctx, func(r store.Reader) error {
		last = store.Event{}
		events, err := r.Events(ctx, store.EventQuery{Limit: purgeBatch})
		if err != nil {
			return err
		}
		old := 0
		for old < len(events) && events[old].Time.Before(before) {
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

// firstNeeded returns the Seq of the first event, below a bound, that is yet
// to be handed on to webhooks, to a subscriber, or in a delivery under way. A
// subscriber that nobody has run since an instant does not count, nor does a
// delivery that is older than five days or whose webhook is not active.
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

// webhooksWith returns the ids of the webhooks with certain statuses.
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

// skippedError is the attempt's error of a delivery whose event was purged.
const skippedError = "skipped: the event is no longer kept"

// skipPurged ends deliveries to paused and disabled webhooks whose events were
// purged. They stay in the history as failed, and the log counts them.
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
			s.opts.Logger.WarnContext(ctx, "licensing: retention removed events before a webhook got them", "webhook_id", id, "skipped", n)
		}
	}
	return skipped, nil
}
