package api

import (
	"net/http"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/web"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

// An eventList is a page of the feed on the wire. Its cursor is there at the
// end of the feed too, to ask again with.
type eventList struct {
	Object     string          `json:"object"`
	Data       []license.Event `json:"data"`
	HasMore    bool            `json:"has_more"`
	NextCursor string          `json:"next_cursor"`
}

// listEvents is GET /event.
func (a api) listEvents(w http.ResponseWriter, r *http.Request) error {
	query := web.ReadQuery(r, "after", "type", "subject", "limit")
	p := license.EventsParams{
		After:   query.Text("after"),
		Type:    query.Text("type"),
		Subject: query.Text("subject"),
		Limit:   query.Number("limit", 1, maxLimit),
	}
	if err := query.Err(); err != nil {
		return err
	}
	page, err := a.rules(r).Events(r.Context(), p)
	if err != nil {
		return web.QueryError(err)
	}
	return web.WriteJSON(w, http.StatusOK, eventList{"list", page.Events, page.HasMore, page.NextCursor})
}
