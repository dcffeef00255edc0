package webhook

import (
	"context"
	"fmt"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/feed"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/outbox"
	"github.com/seed-d8a106b4/licensekit/store"
)

// handOnBatch is roughly how many deliveries one Update writes, so that other
// writers get the write lock in between.
const handOnBatch = 100

// handOnIdle is how long handOn waits for new events if none wakes it.
const handOnIdle = 5 * time.Minute

// handOn creates deliveries of the events after the cursor for the webhooks that
// select them. It writes the deliveries and the new cursor in one Update, so
// that each event gets exactly one delivery per webhook, however many processes
// run and wherever one is killed.
func (r *run) handOn() (feed.Next, error) {
	// Read first, so that nothing is written while there are no new events.
	seq, ok, err := feed.ReadCursor(r.Work, r.store(), cursorKey)
	if err != nil || !ok {
		return feed.In(handOnIdle), err
	}
	if events, err := r.store().Events(r.Work, store.EventQuery{After: seq, Limit: 1}); err != nil || len(events) == 0 {
		return feed.In(handOnIdle), err
	}
	var more bool
	err = r.store().Update(r.Work, func(tx store.Tx) (err error) {
		more, err = r.writeDeliveries(tx)
		return err
	})
	if err != nil {
		return feed.Next{}, fmt.Errorf("creating deliveries: %w", err)
	}
	r.dispatchBell.Ring()
	if more {
		return feed.In(0), nil
	}
	return feed.In(handOnIdle), nil
}

func (r *run) writeDeliveries(tx store.Tx) (more bool, err error) {
	ctx, now := r.Work, r.now()
	seq, _, err := feed.ReadCursor(ctx, tx, cursorKey)
	if err != nil {
		return false, err
	}
	webhooks, err := r.within(tx).List(ctx)
	if err != nil {
		return false, err
	}
	limit := max(1, min(store.MaxLimit/2, handOnBatch/max(1, len(webhooks))))
	events, err := tx.Events(ctx, store.EventQuery{After: seq, Limit: limit})
	if err != nil || len(events) == 0 {
		return false, err
	}
	begins := make(map[string]int64, len(webhooks))
	for _, w := range webhooks {
		seq, known := r.begins[w.ID]
		if !known {
			if seq, err = creation(ctx, tx, w.ID); err != nil {
				return false, err
			}
		}
		begins[w.ID] = seq
	}
	r.begins = begins
	var made []outbox.Delivery
	for _, e := range events {
		for _, w := range webhooks {
			if e.Seq <= begins[w.ID] || !w.wants(e) {
				continue
			}
			made = append(made, newDelivery(w.ID, e, now))
		}
	}
	if err := outbox.Put(ctx, tx, made...); err != nil {
		return false, err
	}
	return len(events) == limit, feed.WriteCursor(ctx, tx, cursorKey, events[len(events)-1].Seq, now)
}

// creation returns the Seq of the event of a webhook's creation, or zero once
// that event has been purged. The feed, not the time of an event, decides what
// came later, because the clocks of processes differ.
func creation(ctx context.Context, r store.Reader, webhookID string) (seq int64, err error) {
	events, err := r.Events(ctx, store.EventQuery{Subject: webhookID, Limit: 1})
	if err != nil || len(events) == 0 || events[0].Type != EventCreated {
		return 0, err
	}
	return events[0].Seq, nil
}
