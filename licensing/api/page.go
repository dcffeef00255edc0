package api

// A Page is one page of a list.
type Page[T any] struct {
	Data []T
	// HasMore reports whether the list continues after this page.
	HasMore bool
	// NextCursor continues the list after this page. It is empty at the end,
	// unless the list says otherwise.
	NextCursor string
}
