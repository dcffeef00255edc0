package client

import (
	"context"
	"iter"
	"time"
)

// An Event is one change.
type Event struct {
	ID         string    `json:"id"`
	Type       string    `json:"type"` // such as "license.created"
	Timestamp  time.Time `json:"timestamp"`
	Actor      string    `json:"actor"`
	RequestID  string    `json:"request_id"`  // of the request that made the change
	Subject    string    `json:"subject"`     // the ID of the record
	ProductID  string    `json:"product_id"`  // of the license, if the event is about one
	CustomerID string    `json:"customer_id"` // of the license, if the event is about one
	Data       EventData `json:"data"`
}

// EventData is the content of an event. Which fields are set depends on the
// type of the event.
type EventData struct {
	License       *License               `json:"license"` // after the change, without its key
	Activation    *Activation            `json:"activation"`
	File          *EventFile             `json:"file"`   // that was issued
	Forced        bool                   `json:"forced"` // the seat was released although a license file holds it
	Webhook       *Webhook               `json:"webhook"`
	NoticeSeconds int64                  `json:"notice_seconds"` // how long before the end an expiry notice was due
	Changes       map[string]FieldChange `json:"changes"`        // by field name
	Reason        string                 `json:"reason"`
	Erased        bool                   `json:"erased"` // personal data was removed
}

// An EventFile is a license file that was issued.
type EventFile struct {
	ID         string    `json:"id"` // the jti of the file
	Generation int64     `json:"generation"`
	ExpiresAt  time.Time `json:"expires_at"`
}

// A FieldChange is the change of one field, in JSON values.
type FieldChange struct {
	From any `json:"from"`
	To   any `json:"to"`
}

// An EventPage is a part of the event feed.
type EventPage struct {
	Data []Event `json:"data"` // oldest first
	// NextCursor continues after Data. Keep it, for example in the transaction
	// that handles Data, and set it as ListEventsParams.After.
	NextCursor string `json:"next_cursor"`
	HasMore    bool   `json:"has_more"` // more events followed when the page was read
}

func (p EventPage) complete() bool { return p.Data != nil && p.NextCursor != "" }

// ListEventsParams select events. Fields that are not set do not filter.
type ListEventsParams struct {
	After   string `json:"-" query:"after"`   // the NextCursor of an earlier page; empty: from the oldest event
	Type    string `json:"-" query:"type"`    // such as "license.renewed" or "license.*"
	Subject string `json:"-" query:"subject"` // the ID of a record
	Limit   int    `json:"-" query:"limit"`   // events per page, at most 200; 0: 50
}

// ListEvents returns the events after a cursor, page by page, up to the end of
// the feed. Every call yields at least one page or an error, so that the caller
// gets the cursor of the end too. A consumer that keeps NextCursor misses no
// event. The error is [CodeCursorGone] if the feed does not continue at After:
// read it again without After, and skip the events whose IDs are known.
func (c *Client) ListEvents(ctx context.Context, p ListEventsParams) iter.Seq2[EventPage, error] {
	return func(yield func(EventPage, error) bool) {
		for {
			page, err := call[EventPage](ctx, c, "GET /event", 0, p)
			if !yield(page, err) || err != nil || !page.HasMore {
				return
			}
			p.After = page.NextCursor
		}
	}
}
