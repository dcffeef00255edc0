package client

import (
	"context"
	"iter"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// ListEvents returns the events after a cursor, oldest first, page by page, up to the
// end of the feed. Every call yields at least one page or an error, and every page has
// NextCursor, so that the caller gets the cursor of the end too. A consumer that keeps
// NextCursor, for example in the transaction that handles Data, and sets it as
// ListEventsParams.After misses no event. The error is [api.CodeCursorGone] if the feed
// does not continue at After: read it again without After, and skip the events whose
// IDs are known.
func (c *Client) ListEvents(ctx context.Context, p api.ListEventsParams) iter.Seq2[api.Page[api.Event], error] {
	return func(yield func(api.Page[api.Event], error) bool) {
		for {
			page, err := call[api.Page[api.Event]](ctx, c, "GET /event", 0, p)
			if !yield(page, err) || err != nil || !page.HasMore {
				return
			}
			p.After = page.NextCursor
		}
	}
}
