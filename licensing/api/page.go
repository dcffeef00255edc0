package api

import (
	"encoding/json"
	"time"
)

// A Page is one page of a list.
type Page[T any] struct {
	Data []T `json:"data"`
	// HasMore reports whether the list continues after this page.
	HasMore bool `json:"has_more"`
	// NextCursor continues the list after this page. It is empty at the end,
	// unless the list says otherwise.
	NextCursor string `json:"next_cursor,omitempty"`
}

// UnmarshalJSON replaces the whole page: the API sends null in place of the cursor at the
// end of a list, which would leave that of the page before, and entries that lack a member
// would have that of an earlier entry.
func (p *Page[T]) UnmarshalJSON(b []byte) error {
	type plain Page[T] // without this method
	var next plain
	if err := json.Unmarshal(b, &next); err != nil {
		return err
	}
	*p = Page[T](next)
	return nil
}

// A ListPage is a [Page] of Service.List.
type ListPage struct {
	Page[License]
	// PrevCursor reads the page before this one; empty: this is the first.
	PrevCursor string `json:"prev_cursor,omitempty"`
	// SearchedTo is set if a list stopped before the page was full because it had
	// examined 10,000 licenses. It is when the last of these was created or, in a list
	// sorted by ExpiresAt or StartsAt, that time. The list continues with NextCursor, or
	// with PrevCursor if it read backward.
	SearchedTo time.Time `json:"searched_to,omitzero"`
}

// UnmarshalJSON replaces the whole page, as that of [Page] does.
func (p *ListPage) UnmarshalJSON(b []byte) error {
	var own struct {
		PrevCursor string    `json:"prev_cursor"`
		SearchedTo time.Time `json:"searched_to"`
	}
	var page Page[License]
	if err := json.Unmarshal(b, &own); err != nil {
		return err
	}
	if err := json.Unmarshal(b, &page); err != nil {
		return err
	}
	*p = ListPage{Page: page, PrevCursor: own.PrevCursor, SearchedTo: own.SearchedTo}
	return nil
}
