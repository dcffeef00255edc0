package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/core/feed"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/core/record"
	"github.com/seed-d8a106b4/licensekit/store"
)

// laneKind is the kind of the entries that hold the lanes of webhooks. The Key is
// the ID of the webhook. An entry expires at the time of the next stored delivery, so
// that one list finds all due work.
const laneKind = "webhook_lane"

// A laneRecord is the cursor of one webhook in the feed, and its breaker. Every event
// up to Position has a stored delivery, or the webhook does not select it. Position
// never decreases.
type laneRecord struct {
	Position int64 `json:"position"`
	breaker
	// Own is false if an earlier version stored the lane as level with others: then
	// it also needs no event up to the cursor [cursorKey].
	Own bool `json:"own,omitempty"`

	Due       time.Time `json:"-"` // of the first pending delivery; zero: none, or the webhook is not active
	UpdatedAt time.Time `json:"-"`
}

// cursorKey is the key of the feed cursor that level webhooks shared in earlier
// versions.
const cursorKey = "webhook"

func readLaneEntry(e store.Entry) (lane laneRecord, err error) {
	if err := json.Unmarshal(e.Data, &lane); err != nil {
		return laneRecord{}, fmt.Errorf("lane of webhook %s: %w", e.Key, err)
	}
	lane.Due, lane.UpdatedAt = e.ExpiresAt, e.CreatedAt
	return lane, nil
}

// readLane returns the lane of a webhook, also of one that an earlier version created.
func readLane(ctx context.Context, r store.Reader, webhookID string) (lane laneRecord, err error) {
	e, err := r.Entry(ctx, laneKind, webhookID)
	switch {
	case err == nil:
		lane, err = readLaneEntry(e)
	case errors.Is(err, store.ErrNotFound):
		lane.Position, err = creation(ctx, r, webhookID)
	}
	if err != nil || lane.Own {
		return lane, err
	}
	shared, _, err := feed.ReadCursor(ctx, r, cursorKey)
	lane.Own, lane.Position = true, max(lane.Position, shared)
	return lane, err
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
	return tx.PutEntries(ctx, store.Entry{Kind: laneKind, Key: webhookID, Data: record.Encode(lane), ExpiresAt: lane.Due, CreatedAt: lane.UpdatedAt})
}

// editLane changes the lane of a webhook. The process that sends then looks for due
// deliveries of the webhook if it is active, and for none if it is not.
func (tx *transaction) editLane(ctx context.Context, rec webhookRecord, change func(*laneRecord)) error {
	lane, err := readLane(ctx, tx, rec.ID)
	if err != nil {
		return err
	}
	change(&lane)
	lane.Due, lane.UpdatedAt = time.Time{}, tx.now
	if rec.Status == StatusActive {
		lane.Due = tx.now
	}
	return putLane(ctx, tx, rec.ID, lane)
}

// checkLane makes the process that sends look at a lane because a delivery was stored
// or the webhook is not active any more.
func (tx *transaction) checkLane(ctx context.Context, rec webhookRecord) error {
	return tx.editLane(ctx, rec, func(*laneRecord) {})
}

// activeLanes returns the active webhooks and the lane of each.
func activeLanes(ctx context.Context, r store.Reader) (hooks []webhookRecord, lanes []laneRecord, err error) {
	all, err := readAll(ctx, r)
	if err != nil {
		return nil, nil, err
	}
	stored, err := readLanes(ctx, r)
	if err != nil {
		return nil, nil, err
	}
	for _, rec := range all {
		if rec.Status != StatusActive {
			continue
		}
		lane := stored[rec.ID]
		if !lane.Own {
			if lane, err = readLane(ctx, r, rec.ID); err != nil {
				return nil, nil, err
			}
		}
		hooks, lanes = append(hooks, rec), append(lanes, lane)
	}
	return hooks, lanes, nil
}

// readLanes returns the stored lanes by webhook.
func readLanes(ctx context.Context, r store.Reader) (map[string]laneRecord, error) {
	lanes := make(map[string]laneRecord)
	err := eachEntry(ctx, r, laneKind, func(e store.Entry) (err error) {
		lanes[e.Key], err = readLaneEntry(e)
		return err
	})
	return lanes, err
}
