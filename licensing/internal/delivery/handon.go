package delivery

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/outbox"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store"
)

// handOnBatch is roughly how many deliveries one Update writes, so that other
// writers get the write lock in between.
const handOnBatch = 100

// handOn creates deliveries of the events after the cursor for the webhooks that
// select them. It writes the deliveries and the new cursor in one Update, so
// that each event gets exactly one delivery per webhook, however many processes
// run and wherever one is killed.
func (r *run) handOn() (time.Duration, error) {
	// Read first, so that nothing is written while there are no new events.
	seq, ok, err := readCursor(r.work, r.Store, license.WebhookCursor)
	if err != nil || !ok {
		return r.Poll, err
	}
	if events, err := r.Store.Events(r.work, store.EventQuery{After: seq, Limit: 1}); err != nil || len(events) == 0 {
		return r.Poll, err
	}
	var more bool
	err = r.Store.Update(r.work, func(tx store.Tx) (err error) {
		more, err = r.writeDeliveries(tx)
		return err
	})
	if err != nil {
		return r.Poll, fmt.Errorf("creating deliveries: %w", err)
	}
	r.dispatchBell.ring()
	if more {
		return 0, nil
	}
	return r.Poll, nil
}

func (r *run) writeDeliveries(tx store.Tx) (more bool, err error) {
	ctx, now := r.work, r.now()
	seq, _, err := readCursor(ctx, tx, license.WebhookCursor)
	if err != nil {
		return false, err
	}
	webhooks, err := r.Licenses.In(tx).Webhooks(ctx)
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
			if e.Seq <= begins[w.ID] || !w.Wants(e) {
				continue
			}
			made = append(made, license.NewDelivery(w.ID, e, now))
		}
	}
	if err := outbox.Put(ctx, tx, made...); err != nil {
		return false, err
	}
	return len(events) == limit, writeCursor(ctx, tx, license.WebhookCursor, events[len(events)-1].Seq, now)
}

// creation returns the Seq of the event of a webhook's creation, or zero once
// that event has been purged. The feed, not the time of an event, decides what
// came later, because the clocks of processes differ.
func creation(ctx context.Context, r store.Reader, webhookID string) (seq int64, err error) {
	events, err := r.Events(ctx, store.EventQuery{Subject: webhookID, Limit: 1})
	if err != nil || len(events) == 0 || events[0].Type != license.EventWebhookCreated {
		return 0, err
	}
	return events[0].Seq, nil
}

// now returns the current time as stored in records.
func (e *Engine) now() time.Time { return e.Now().UTC().Truncate(time.Millisecond) }

// readCursor returns the position that a cursor holds, if it exists.
func readCursor(ctx context.Context, r store.Reader, key string) (seq int64, ok bool, err error) {
	e, err := r.Entry(ctx, store.KindCursor, key)
	if errors.Is(err, store.ErrNotFound) {
		return 0, false, nil
	}
	if err == nil {
		seq, err = strconv.ParseInt(string(e.Data), 10, 64)
	}
	if err != nil {
		return 0, false, fmt.Errorf("cursor %s: %w", key, err)
	}
	return seq, true, nil
}

func writeCursor(ctx context.Context, tx store.Tx, key string, seq int64, now time.Time) error {
	return tx.PutEntries(ctx, store.Entry{Kind: store.KindCursor, Key: key, Data: strconv.AppendInt(nil, seq, 10), CreatedAt: now})
}
