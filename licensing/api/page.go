package api

import "time"

// A Page is one page of a list.
type Page[T any] struct {
	Data []T `json:"data"`
	// HasMore reports whether the list continues after this page.
	HasMore bool `json:"has_more"`
	// NextCursor continues the list after this page. It is empty at the end,
	// unless the list says otherwise.
	NextCursor string `json:"next_cursor,omitempty"`
}

// A ListPage is a [Page] of Service.List.
type ListPage struct {
	Page[License]
	// PrevCursor reads the page before this one; empty: this is the first.
	PrevCursor string `json:"prev_cursor,omitempty"`
	// SearchedTo is set if a search stopped before the page was full, because it
	// took too long: when the last license that it examined was created. The
	// search continues with NextCursor, or with PrevCursor if it read backward.
	SearchedTo time.Time `json:"searched_to,omitzero"`
}
