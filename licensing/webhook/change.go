package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store"
)

// changeKind is the kind of the single entry that changes with every change of a
// webhook, so that a process sees in one read that what it knows is old.
const changeKind = "webhook_changes"

// changesKept is how many changes the entry keeps, so that a process that has
// missed fewer reads only the webhooks that changed.
const changesKept = 50

// A changeRecord is the data of the entry.
type changeRecord struct {
	Changes []changeOf `json:"changes"` // newest first
	// Count is how many webhooks there are, if Counted: nothing has counted them
	// in a store that has just been moved or that an earlier version wrote.
	Count   int  `json:"count"`
	Counted bool `json:"counted"`
}

// A changeOf is one change of a webhook.
type changeOf struct {
	Event   string `json:"event"` // the ID of its event
	Webhook string `json:"webhook"`
}

func readChange(ctx context.Context, r store.Reader) (c changeRecord, err error) {
	e, err := r.Entry(ctx, changeKind, changeKind)
	if errors.Is(err, store.ErrNotFound) {
		return changeRecord{}, nil
	}
	if err == nil {
		err = json.Unmarshal(e.Data, &c)
	}
	return c, err
}

func (tx *transaction) putChange(ctx context.Context, c changeRecord) error {
	return tx.PutEntries(ctx, store.Entry{Kind: changeKind, Key: changeKind, Data: encode(c), CreatedAt: tx.now, Move: store.Passing})
}

// last returns the ID of the event of the last change, or "" if there is none.
func (c changeRecord) last() string {
	if len(c.Changes) == 0 {
		return ""
	}
	return c.Changes[0].Event
}

// since returns which webhooks have changed after the change with an ID. It
// returns false if that is not known.
func (c changeRecord) since(last string) (webhooks []string, ok bool) {
	for _, change := range c.Changes {
		if change.Event == last {
			return webhooks, true
		}
		if !slices.Contains(webhooks, change.Webhook) {
			webhooks = append(webhooks, change.Webhook)
		}
	}
	return nil, false
}

// noteChange records a change of a webhook.
func (tx *transaction) noteChange(ctx context.Context, e store.Event) error {
	c, err := readChange(ctx, tx)
	if err != nil {
		return err
	}
	c.Changes = slices.Insert(c.Changes, 0, changeOf{e.ID, e.Subject})
	c.Changes = c.Changes[:min(len(c.Changes), changesKept)]
	switch e.Type {
	case EventCreated:
		c.Count++
	case EventDeleted:
		c.Count--
	}
	return tx.putChange(ctx, c)
}

// checkRoom returns an error if there are as many webhooks as there may be.
func (tx *transaction) checkRoom(ctx context.Context) error {
	c, err := readChange(ctx, tx)
	if err != nil {
		return err
	}
	if !c.Counted {
		all, err := readAll(ctx, tx)
		if err != nil {
			return err
		}
		c.Count, c.Counted = len(all), true
		if err := tx.putChange(ctx, c); err != nil {
			return err
		}
	}
	if c.Count >= maxWebhooks {
		return license.Invalid("url", license.CodeTooMany, fmt.Sprintf("cannot be added: the limit of %d webhooks is reached", maxWebhooks))
	}
	return nil
}
