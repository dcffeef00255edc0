package license

import "github.com/seed-d8a106b4/licensekit/auth"

// A Page is one page of a list: its Data, HasMore and NextCursor. It is the
// same type as [auth.Page].
type Page[T any] = auth.Page[T]

// An IndexedPage is a [Page] of [Service.List], [Service.Customers] or
// [Service.Products], which read an index.
type IndexedPage[T any] struct {
	Page[T]
	// PrevCursor reads the page before this one. Only [Service.List] sets
	// it, and not on the first page.
	PrevCursor string
	// Indexing is set if the list was read from an index that lags behind;
	// nil: the list is complete.
	Indexing *Indexing
}
