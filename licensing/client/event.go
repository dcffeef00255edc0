package client

import (
	"context"
	"iter"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// An EventPage is a part of the event feed.
type EventPage struct {
	Data []api.Event `json:"data"` // oldest first
	// NextCursor continues after Data. Keep it, for example in the transaction
	// that handles Data, and set it as ListEventsParams.After.
	NextCursor string `json:"next_cursor"`
	HasMore    bool   `json:"has_more"` // more events followed when the page was read
}

// ListEvents returns the events after a cursor, page by page, up to the end of
// the feed. Every call yields at least one page or an error, so that the caller
// gets the cursor of the end too. A consumer that keeps NextCursor misses no
// event. The error is [api.CodeCursorGone] if the feed does not continue at After:
// read it again without After, and skip the events whose IDs are known.
func (c *Client) ListEvents(ctx context.Context, p api.ListEventsParams) iter.Seq2[EventPage, error] {
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
