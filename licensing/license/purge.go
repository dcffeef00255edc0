package license

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

const (
	purgeBatch = 200 // records removed in one Update
	// leftKind is the kind of entries that name webhooks which are gone and
	// have left deliveries.
	leftKind = "webhook_left"
)

// PurgeHistory removes a batch of what is no longer kept: deliveries by
// Options.DeliveryRetention, events by Options.EventRetention, and what is
// left of webhooks that were deleted. It reports whether there may be more.
func (s *Service) PurgeHistory(ctx context.Context) (more bool, err error) {
	for _, purge := range []func(context.Context, *transaction) (int, error){s.purgeLeft, s.purgeDeliveries, s.purgeEvents} {
		n := 0
		err := s.update(ctx, func(tx *transaction) (err error) {
			n, err = purge(ctx, tx)
			return err
		})
		if err != nil {
			return false, fmt.Errorf("purge history: %w", err)
		}
		more = more || n > 0
	}
	return more, nil
}

// purgeLeft removes what was under way to a webhook that is gone.
func (s *Service) purgeLeft(ctx context.Context, tx *transaction) (int, error) {
	left, err := tx.Entries(ctx, store.EntryQuery{Kind: leftKind, Limit: 1})
	if err != nil || len(left) == 0 {
		return 0, err
	}
	deliveries, err := tx.Deliveries(ctx, store.DeliveryQuery{EndpointID: left[0].Key, Limit: purgeBatch})
	if err != nil {
		return 0, err
	}
	if err := deleteDeliveries(ctx, tx, deliveries); err != nil {
		return 0, err
	}
	if len(deliveries) < purgeBatch {
		return 1, tx.DeleteEntry(ctx, leftKind, left[0].Key)
	}
	return len(deliveries), nil
}

// purgeDeliveries removes deliveries that are over and were made too long ago.
// Those that are not over stay.
func (s *Service) purgeDeliveries(ctx context.Context, tx *transaction) (n int, err error) {
	// Ids are in order of creation: what is behind this one is older.
	q := store.DeliveryQuery{After: store.Position{ID: store.NewID("dlv", tx.now.Add(-s.opts.DeliveryRetention))}, Limit: purgeBatch}
	for _, status := range []DeliveryStatus{DeliverySucceeded, DeliveryFailed} {
		q.State = string(status)
		old, err := tx.Deliveries(ctx, q)
		if err != nil {
			return 0, err
		}
		if err := deleteDeliveries(ctx, tx, old); err != nil {
			return 0, err
		}
		n += len(old)
	}
	return n, nil
}

func deleteDeliveries(ctx context.Context, tx *transaction, deliveries []store.Delivery) error {
	for _, d := range deliveries {
		if err := tx.DeleteDelivery(ctx, d.ID); err != nil {
			return err
		}
	}
	return nil
}

// purgeEvents removes the oldest events if they are too old and nobody has yet
// to get them.
func (s *Service) purgeEvents(ctx context.Context, tx *transaction) (int, error) {
	if s.opts.EventRetention <= 0 {
		return 0, nil
	}
	before := tx.now.Add(-s.opts.EventRetention)
	events, err := tx.Events(ctx, store.EventQuery{Limit: purgeBatch})
	if err != nil {
		return 0, err
	}
	var through int64
	for _, e := range events {
		if !e.Time.Before(before) {
			break
		}
		through = e.Seq
	}
	if through == 0 {
		return 0, nil
	}
	needed, err := s.firstNeeded(ctx, tx, through+1, before)
	if err != nil || needed <= 1 {
		return 0, err
	}
	return tx.DeleteEvents(ctx, needed-1, purgeBatch)
}

// firstNeeded returns the Seq of the first event, below a bound, that is yet
// to be handed on to webhooks, to a subscriber, or in a delivery under way. A
// subscriber that nobody has run since an instant does not count.
func (s *Service) firstNeeded(ctx context.Context, tx *transaction, bound int64, since time.Time) (int64, error) {
	cursors, err := tx.Entries(ctx, store.EntryQuery{Kind: store.KindCursor})
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
	q := store.DeliveryQuery{State: string(DeliveryPending)}
	for {
		pending, err := tx.Deliveries(ctx, q)
		if err != nil || len(pending) == 0 {
			return bound, err
		}
		for _, d := range pending {
			bound = min(bound, d.EventSeq)
			q.After.ID = d.ID
		}
	}
}
