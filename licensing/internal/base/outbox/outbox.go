// Package outbox keeps the deliveries of events to webhooks as entries of a
// store.
package outbox

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

// Kind is the kind of the entries that hold deliveries. Key is the webhook's id,
// a slash and the delivery's id, so that the deliveries of a webhook are listed
// in the order of their creation. A delivery that has a DueAt has its webhook's
// id as Owner and expires then. One that has none is finished: it expires when it
// finished, and has no Owner, because each index that an entry is in costs about
// as much as its data.
const Kind = "delivery"

// succeeded is the State of most deliveries. It is not stored.
const succeeded = "succeeded"

// A Delivery records the attempts to send one event to one webhook.
type Delivery struct {
	ID        string
	WebhookID string
	EventID   string
	EventSeq  int64
	EventType string
	State     string
	DueAt     time.Time // when the next attempt may start; zero: none will
	Attempts  int64     // since it was last begun; not kept once it is finished
	Data      []byte    // a JSON document: the attempts made
	CreatedAt time.Time
	UpdatedAt time.Time
}

// A document is the Data of an entry. UpdatedAt is in milliseconds of Unix time;
// without it, the delivery finished when the entry expires. Without a State, it
// succeeded.
type document struct {
	EventID   string          `json:"event_id"`
	EventSeq  int64           `json:"event_seq"`
	EventType string          `json:"event_type"`
	State     string          `json:"state,omitempty"`
	Attempts  int64           `json:"attempts,omitempty"`
	UpdatedAt int64           `json:"updated_at,omitempty"`
	Data      json.RawMessage `json:"data,omitempty"`
}

func key(webhookID, id string) string { return webhookID + "/" + id }

// entry returns the entry of d.
func (d Delivery) entry() (store.Entry, error) {
	e := store.Entry{Kind: Kind, Key: key(d.WebhookID, d.ID), Owner: d.WebhookID, ExpiresAt: d.DueAt, CreatedAt: d.CreatedAt}
	doc := document{d.EventID, d.EventSeq, d.EventType, d.State, d.Attempts, d.UpdatedAt.UnixMilli(), d.Data}
	if d.DueAt.IsZero() {
		e.Owner, e.ExpiresAt = "", d.UpdatedAt
		doc.Attempts, doc.UpdatedAt = 0, 0
	}
	if doc.State == succeeded {
		doc.State = ""
	}
	data, err := json.Marshal(doc)
	if err != nil {
		return store.Entry{}, fmt.Errorf("delivery %s: %w", d.ID, err)
	}
	e.Data = data
	return e, nil
}

// read returns the delivery of an entry.
func read(e store.Entry) (Delivery, error) {
	var doc document
	if err := json.Unmarshal(e.Data, &doc); err != nil {
		return Delivery{}, fmt.Errorf("delivery %s: %w", e.Key, err)
	}
	webhookID, id, _ := strings.Cut(e.Key, "/")
	d := Delivery{
		ID: id, WebhookID: webhookID, EventID: doc.EventID, EventSeq: doc.EventSeq, EventType: doc.EventType, State: doc.State,
		Attempts: doc.Attempts, Data: doc.Data, CreatedAt: e.CreatedAt, UpdatedAt: time.UnixMilli(doc.UpdatedAt).UTC(),
	}
	if e.Owner == webhookID {
		d.DueAt = e.ExpiresAt
	}
	if doc.UpdatedAt == 0 {
		d.UpdatedAt = e.ExpiresAt
	}
	if d.State == "" {
		d.State = succeeded
	}
	return d, nil
}

func readAll(entries []store.Entry, err error) ([]Delivery, error) {
	if err != nil {
		return nil, err
	}
	list := make([]Delivery, len(entries))
	for i, e := range entries {
		if list[i], err = read(e); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// Put adds deliveries or replaces them.
func Put(ctx context.Context, tx store.Tx, deliveries ...Delivery) error {
	entries := make([]store.Entry, len(deliveries))
	for i, d := range deliveries {
		var err error
		if entries[i], err = d.entry(); err != nil {
			return err
		}
	}
	return tx.PutEntries(ctx, entries...)
}

// Get returns one delivery, or an error that is [store.ErrNotFound].
func Get(ctx context.Context, r store.Reader, webhookID, id string) (Delivery, error) {
	e, err := r.Entry(ctx, Kind, key(webhookID, id))
	if err != nil {
		return Delivery{}, err
	}
	return read(e)
}

// Stored returns the stored ones of at most store.MaxLimit deliveries, by their
// WebhookID and ID.
func Stored(ctx context.Context, r store.Reader, some []Delivery) ([]Delivery, error) {
	keys := make([]string, len(some))
	for i, d := range some {
		keys[i] = key(d.WebhookID, d.ID)
	}
	return readAll(r.Entries(ctx, store.EntryQuery{Kind: Kind, Keys: keys}))
}

// Due lists the deliveries to a webhook that are due in a range of time, the
// longest due first.
func Due(ctx context.Context, r store.Reader, webhookID string, due store.TimeRange, limit int) ([]Delivery, error) {
	return readAll(r.Entries(ctx, store.EntryQuery{Kind: Kind, Order: store.ByExpiry, Owner: webhookID, Expires: due, Limit: limit}))
}

// Pending lists the deliveries to a webhook that are due at any time, the longest
// due first, after another; the zero Delivery: from the first.
func Pending(ctx context.Context, r store.Reader, webhookID string, after Delivery, limit int) ([]Delivery, error) {
	q := store.EntryQuery{Kind: Kind, Order: store.ByExpiry, Owner: webhookID, Limit: limit}
	if after.ID != "" {
		q.After = store.Position{Time: after.DueAt, ID: key(webhookID, after.ID)}
	}
	return readAll(r.Entries(ctx, q))
}

// AllPending lists the deliveries to a webhook that are due at any time, the longest
// due first.
func AllPending(ctx context.Context, r store.Reader, webhookID string) (all []Delivery, err error) {
	var last Delivery
	for {
		page, err := Pending(ctx, r, webhookID, last, store.MaxLimit)
		if err != nil {
			return nil, err
		}
		if all = append(all, page...); len(page) < store.MaxLimit {
			return all, nil
		}
		last = page[len(page)-1]
	}
}

// Newest lists the deliveries to a webhook, the newest first, after the one with
// that id; empty: from the newest.
func Newest(ctx context.Context, r store.Reader, webhookID, after string, limit int) ([]Delivery, error) {
	q := store.EntryQuery{Kind: Kind, From: key(webhookID, ""), Before: store.PrefixEnd(key(webhookID, "")), Descending: true, Limit: limit}
	if after != "" {
		q.After.ID = key(webhookID, after)
	}
	return readAll(r.Entries(ctx, q))
}

// Finished lists deliveries to any webhook that finished before an instant, the
// first to finish first. It starts after a position, and returns the one to start
// the next call at: no delivery before that is finished.
func Finished(ctx context.Context, r store.Reader, before time.Time, after store.Position, limit int) ([]Delivery, store.Position, error) {
	for {
		entries, err := r.Entries(ctx, store.EntryQuery{
			Kind: Kind, Order: store.ByExpiry, Expires: store.TimeRange{Before: before}, After: after, Limit: limit,
		})
		all, err := readAll(entries, err)
		if err != nil {
			return nil, after, err
		}
		// Some may have been due for as long.
		list := slices.DeleteFunc(all, func(d Delivery) bool { return !d.DueAt.IsZero() })
		if len(list) > 0 || len(entries) < limit {
			return list, after, nil
		}
		last := entries[len(entries)-1]
		after = store.Position{Time: last.ExpiresAt, ID: last.Key}
	}
}

// Delete removes deliveries.
func Delete(ctx context.Context, tx store.Tx, deliveries []Delivery) error {
	if len(deliveries) == 0 {
		return nil
	}
	keys := make([]string, len(deliveries))
	for i, d := range deliveries {
		keys[i] = key(d.WebhookID, d.ID)
	}
	return tx.DeleteEntries(ctx, Kind, keys...)
}
