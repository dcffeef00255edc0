package webhook

import (
	"context"
	"errors"

	"github.com/seed-d8a106b4/licensekit/store"
)

// changeKind is the kind of the single entry that changes with every change of a
// webhook, so that a process sees in one read that what it knows is old.
const changeKind = "webhook_changes"

// readChange returns the ID of the event of the last change, or "" if there is none.
func readChange(ctx context.Context, r store.Reader) (string, error) {
	e, err := r.Entry(ctx, changeKind, changeKind)
	if errors.Is(err, store.ErrNotFound) {
		return "", nil
	}
	return string(e.Data), err
}

// noteChange records a change of a webhook.
func (tx *transaction) noteChange(ctx context.Context, e store.Event) error {
	return tx.PutEntries(ctx, store.Entry{Kind: changeKind, Key: changeKind, Data: []byte(e.ID), CreatedAt: tx.now, Move: store.Passing})
}
