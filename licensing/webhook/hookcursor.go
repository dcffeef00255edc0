package webhook

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/entries"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
	"github.com/seed-d8a106b4/licensekit/store"
)

// cursorKind is the kind of the entries that hold the cursors of webhooks. The Key is
// the ID of the webhook. An entry expires at the time of the next stored delivery, so
// that one list finds all due work.
const cursorKind = "webhook_cursor"

// A hookCursor is the cursor of one webhook in the feed, and its breaker. Every event
// up to Position has a stored delivery, or the webhook does not select it. Position
// never decreases.
type hookCursor struct {
	Position int64 `json:"position"`
	breaker

	Due       time.Time `json:"-"` // of the first pending delivery; zero: none, or the webhook is not active
	UpdatedAt time.Time `json:"-"`
}

func readCursorEntry(e store.Entry) (cursor hookCursor, err error) {
	if err := json.Unmarshal(e.Data, &cursor); err != nil {
		return hookCursor{}, fmt.Errorf("cursor of webhook %s: %w", e.Key, err)
	}
	cursor.Due, cursor.UpdatedAt = e.ExpiresAt, e.CreatedAt
	return cursor, nil
}

// readCursor returns the cursor of a webhook.
func readCursor(ctx context.Context, r store.Reader, webhookID string) (hookCursor, error) {
	e, err := r.Entry(ctx, cursorKind, webhookID)
	if err != nil {
		return hookCursor{}, fmt.Errorf("cursor of webhook %s: %w", webhookID, err)
	}
	return readCursorEntry(e)
}

func putCursor(ctx context.Context, tx store.Tx, webhookID string, cursor hookCursor) error {
	return tx.PutEntries(ctx, store.Entry{Kind: cursorKind, Key: webhookID, Data: record.Encode(cursor), ExpiresAt: cursor.Due, CreatedAt: cursor.UpdatedAt})
}

// editCursor changes the cursor of a webhook. The process that sends then looks for due
// deliveries of the webhook if it is active, and for none if it is not.
func (tx *transaction) editCursor(ctx context.Context, rec webhookRecord, change func(*hookCursor)) error {
	cursor, err := readCursor(ctx, tx, rec.ID)
	if err != nil {
		return err
	}
	change(&cursor)
	cursor.Due, cursor.UpdatedAt = time.Time{}, tx.now
	if rec.Status == api.WebhookActive {
		cursor.Due = tx.now
	}
	return putCursor(ctx, tx, rec.ID, cursor)
}

// checkCursor makes the process that sends look at a webhook because a delivery was
// stored or it is not active any more.
func (tx *transaction) checkCursor(ctx context.Context, rec webhookRecord) error {
	return tx.editCursor(ctx, rec, func(*hookCursor) {})
}

// activeCursors returns the active webhooks and the cursor of each.
func activeCursors(ctx context.Context, r store.Reader) (hooks []webhookRecord, cursors []hookCursor, err error) {
	all, stored, err := readHooks(ctx, r)
	for _, rec := range all {
		if rec.Status == api.WebhookActive {
			hooks, cursors = append(hooks, rec), append(cursors, stored[rec.ID])
		}
	}
	return hooks, cursors, err
}

// readHooks returns all webhooks, oldest first, and the cursor of each. It returns an
// error if a webhook has no cursor, so r must be the reader of a View or an Update.
func readHooks(ctx context.Context, r store.Reader) (all []webhookRecord, cursors map[string]hookCursor, err error) {
	if all, err = readAll(ctx, r); err != nil {
		return nil, nil, err
	}
	if cursors, err = readCursors(ctx, r); err != nil {
		return nil, nil, err
	}
	for _, rec := range all {
		if _, ok := cursors[rec.ID]; !ok {
			return nil, nil, fmt.Errorf("cursor of webhook %s: %w", rec.ID, store.ErrNotFound)
		}
	}
	return all, cursors, nil
}

// readCursors returns the stored cursors by webhook.
func readCursors(ctx context.Context, r store.Reader) (map[string]hookCursor, error) {
	cursors := make(map[string]hookCursor)
	for e, err := range entries.All(ctx, r, store.EntryQuery{Kind: cursorKind}) {
		if err == nil {
			cursors[e.Key], err = readCursorEntry(e)
		}
		if err != nil {
			return nil, err
		}
	}
	return cursors, nil
}
