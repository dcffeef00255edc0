package license

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

// An Event tells of one change: what the feed lists, webhooks send and
// subscribers get. Its JSON is its form on the wire, and keeps to the envelope
// of Standard Webhooks (type, timestamp, data).
type Event struct {
	Object     string          `json:"object"` // always "event"
	ID         string          `json:"id"`     // "evt_" and 26 characters; the same however often it is delivered
	Type       string          `json:"type"`   // one of [EventTypes]
	Timestamp  time.Time       `json:"timestamp"`
	Actor      string          `json:"actor"`                // who did it: "client:cid_…", "operator:opr_…" or "go"; "anonymous" for a failed sign-in, "clock" for what came with time, "delivery" for what came of deliveries
	RequestID  string          `json:"request_id,omitempty"` // the request that did it, if one did
	Subject    string          `json:"subject"`              // the id of what changed
	ProductID  string          `json:"product_id,omitempty"`
	CustomerID string          `json:"customer_id,omitempty"`
	Data       json.RawMessage `json:"data"` // for events of this package an [EventData]

	Seq int64 `json:"-"` // its place in the feed of this store
}

// NewEvent returns a stored event in its form on the wire.
func NewEvent(e store.Event) Event {
	ev := Event{
		Object: "event", ID: e.ID, Type: e.Type, Timestamp: e.Time, Actor: e.Actor, RequestID: e.RequestID,
		Subject: e.Subject, ProductID: e.ProductID, CustomerID: e.CustomerID, Data: e.Data, Seq: e.Seq,
	}
	if len(ev.Data) == 0 {
		ev.Data = json.RawMessage("{}")
	}
	return ev
}

// EventsParams select events. Every set field must match.
type EventsParams struct {
	// After is the NextCursor of an earlier page: the list goes on behind
	// it. Empty: it begins with the oldest event that is kept, or with the
	// newest.
	After      string `json:"after"`
	Type       string `json:"type"`                              // a type, or a family such as "license.*"
	Subject    string `json:"subject" validate:"omitempty,text"` // such as a license's id
	CustomerID string `json:"customer_id" validate:"omitempty,text" wire:"-"`
	Limit      int    `json:"limit" validate:"min=0,max=200"` // 0: 50

	NewestFirst bool `json:"newest_first" wire:"-"` // go back in time
}

// How much of the feed one call looks through for what a filter selects.
const (
	feedBatch  = 500
	feedBudget = 2000
)

// Events reads the feed of all changes, in the order in which they became
// visible. Whoever asks again and again with the cursor it was given gets
// every event exactly once, whatever is committed meanwhile. A cursor is a
// place in the feed, and good with any filter. The error is an
// [*InvalidError], or [ErrCursorGone] if the feed does not continue at the
// cursor; a list with NewestFirst never returns that.
//
// A call looks through a bounded part of the feed: with a filter a page can be
// short, or empty, although there is more. A caller who is limited to some
// products gets events of these alone.
func (s *Service) Events(ctx context.Context, p EventsParams) (Page[Event], error) {
	broken := checkTags(ctx, p)
	if p.Type != "" && !IsTypePattern(p.Type) {
		broken = append(broken, FieldError{Field: "type", Code: CodeUnknown, Detail: `must be a type of event, or a family such as "license.*"`})
	}
	after, ok := parsePlace(p.After)
	if !ok {
		broken = append(broken, FieldError{Field: "after", Code: CodeInvalidFormat, Detail: "must be the next_cursor of a page of events; begin again without it"})
	}
	if len(broken) > 0 {
		return Page[Event]{}, &InvalidError{Fields: broken}
	}
	if p.Limit == 0 {
		p.Limit = defaultLimit
	}
	var page Page[Event]
	err := s.view(ctx, func(r store.Reader) (err error) {
		page, err = s.readEvents(ctx, r, p, after)
		return err
	})
	if err != nil {
		return Page[Event]{}, fmt.Errorf("events: %w", err)
	}
	return page, nil
}

// readEvents reads one page from a snapshot.
func (s *Service) readEvents(ctx context.Context, r store.Reader, p EventsParams, at place) (Page[Event], error) {
	if !p.NewestFirst { // a list that goes back in time misses nothing new
		purged, err := readPurged(ctx, r)
		if err != nil {
			return Page[Event]{}, err
		}
		if p.After == "" {
			at = purged
		} else if err := at.check(ctx, r, purged); err != nil {
			return Page[Event]{}, err
		}
	}
	q := store.EventQuery{
		Subject: p.Subject, CustomerID: p.CustomerID,
		After: at.seq, Descending: p.NewestFirst, Limit: p.Limit + 1,
	}
	if p.Type != "" || s.caller.Products != nil {
		q.Limit = feedBatch
	}
	page := Page[Event]{Data: make([]Event, 0, min(p.Limit, defaultLimit))}
	for examined := 0; ; {
		rows, err := r.Events(ctx, q)
		if err != nil {
			return Page[Event]{}, err
		}
		for _, row := range rows {
			if (p.Type == "" || MatchType(p.Type, row.Type)) && (s.caller.Products == nil || s.sees(row.ProductID)) {
				if len(page.Data) == p.Limit {
					page.HasMore, page.NextCursor = true, at.String()
					return page, nil
				}
				page.Data = append(page.Data, NewEvent(row))
			}
			at = placeOf(row)
		}
		q.After = at.seq
		examined += len(rows)
		page.HasMore = len(rows) == q.Limit
		if !page.HasMore && !p.NewestFirst && (p.Subject != "" || p.CustomerID != "") {
			// The rest of the feed was looked through too: a cursor at the last
			// match would be gone as soon as retention removes that event.
			newest, err := r.Events(ctx, store.EventQuery{Descending: true, Limit: 1})
			if err != nil {
				return Page[Event]{}, err
			}
			if len(newest) > 0 {
				at = placeOf(newest[0])
			}
		}
		if page.HasMore || !p.NewestFirst {
			page.NextCursor = at.String()
		}
		if !page.HasMore || examined >= feedBudget {
			return page, nil
		}
	}
}
