package license

// A Page is one page of a list.
type Page[T any] struct {
	Data []T
	// HasMore reports whether the list continues after this page.
	HasMore bool
	// NextCursor continues the list after this page. It is empty at the end,
	// except in the feed of [Service.Events], whose end is never final.
	NextCursor string
	// Indexing is set if the list was read from an index that lags behind;
	// nil: the list is complete.
	Indexing *Indexing
	// PrevCursor reads the page before this one. Only [Service.List] sets
	// it, and not on the first page.
	PrevCursor string
}
