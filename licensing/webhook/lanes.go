package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/feed"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/outbox"
	"github.com/seed-d8a106b4/licensekit/store"
)

// laneKind is the kind of the entries that hold the lanes of webhooks. The Key is
// the ID of the webhook. An entry expires when work of its lane is due, so that
// one list finds all due work.
const laneKind = "webhook_lane"

// A laneRecord says which events a webhook needs. Webhooks that are level share
// the position of the cursor [cursorKey]. One that lags or is not active has its
// own position.
type laneRecord struct {
	// Position is the Seq of the last event that the webhook does not need. A
	// webhook in the shared lane also needs none up to the shared position.
	Position int64 `json:"position"`
	Own      bool  `json:"own,omitempty"` // not in the shared lane

	Due       time.Time `json:"-"` // when work is due; zero: none, or the webhook is not active
	UpdatedAt time.Time `json:"-"`
}

func readLaneEntry(e store.Entry) (lane laneRecord, err error) {
	if err := json.Unmarshal(e.Data, &lane); err != nil {
		return laneRecord{}, fmt.Errorf("lane of webhook %s: %w", e.Key, err)
	}
	lane.Due, lane.UpdatedAt = e.ExpiresAt, e.CreatedAt
	return lane, nil
}

// readLane returns the lane of a webhook.
func readLane(ctx context.Context, r store.Reader, rec webhookRecord, now time.Time) (laneRecord, error) {
	e, err := r.Entry(ctx, laneKind, rec.ID)
	if errors.Is(err, store.ErrNotFound) {
		return newLane(ctx, r, rec, now)
	}
	if err != nil {
		return laneRecord{}, err
	}
	return readLaneEntry(e)
}

// newLane returns the lane of a webhook that an earlier version created. The
// deliveries that it made are the queue.
func newLane(ctx context.Context, r store.Reader, rec webhookRecord, now time.Time) (lane laneRecord, err error) {
	if lane.Position, err = creation(ctx, r, rec.ID); err != nil {
		return laneRecord{}, err
	}
	pending, err := outbox.Pending(ctx, r, rec.ID, outbox.Delivery{}, 1)
	if err != nil {
		return laneRecord{}, err
	}
	lane.UpdatedAt = now
	if rec.Status != StatusActive {
		return lane, lane.leave(ctx, r)
	}
	if len(pending) > 0 {
		lane.Due = now
	}
	return lane, nil
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

func putLane(ctx context.Context, tx store.Tx, webhookID string, lane laneRecord) error {
	return tx.PutEntries(ctx, store.Entry{Kind: laneKind, Key: webhookID, Data: encode(lane), ExpiresAt: lane.Due, CreatedAt: lane.UpdatedAt})
}

// leave takes a lane out of the shared one, at its position.
func (lane *laneRecord) leave(ctx context.Context, r store.Reader) error {
	if lane.Own {
		return nil
	}
	shared, _, err := feed.ReadCursor(ctx, r, cursorKey)
	lane.Own, lane.Position = true, max(lane.Position, shared)
	return err
}

// readOwnLane returns the lane of a webhook as if it had left the shared one: its
// position is the Seq of the last event that the webhook does not need.
func readOwnLane(ctx context.Context, r store.Reader, rec webhookRecord, now time.Time) (laneRecord, error) {
	lane, err := readLane(ctx, r, rec, now)
	if err == nil {
		err = lane.leave(ctx, r)
	}
	return lane, err
}

// halt stops the lane of a webhook that is not active any more.
func (tx *transaction) halt(ctx context.Context, rec webhookRecord) error {
	lane, err := readOwnLane(ctx, tx, rec, tx.now)
	if err != nil {
		return err
	}
	lane.Due, lane.UpdatedAt = time.Time{}, tx.now
	return putLane(ctx, tx, rec.ID, lane)
}

// enqueued notes that a delivery to a webhook was put into its queue, due now.
func (tx *transaction) enqueued(ctx context.Context, rec webhookRecord) error {
	lane, err := readLane(ctx, tx, rec, tx.now)
	if err != nil {
		return err
	}
	if lane.UpdatedAt = tx.now; rec.Status == StatusActive {
		lane.Due = tx.now
	}
	return putLane(ctx, tx, rec.ID, lane)
}

// readLanes returns the stored lanes that a query selects, by webhook.
func readLanes(ctx context.Context, r store.Reader, q store.EntryQuery) (map[string]laneRecord, error) {
	lanes := make(map[string]laneRecord)
	q.Kind, q.Limit = laneKind, store.MaxLimit
	for {
		entries, err := r.Entries(ctx, q)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if lanes[e.Key], err = readLaneEntry(e); err != nil {
				return nil, err
			}
			if q.After.ID = e.Key; q.Order == store.ByExpiry {
				q.After.Time = e.ExpiresAt
			}
		}
		if len(entries) < q.Limit {
			return lanes, nil
		}
	}
}
