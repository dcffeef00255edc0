package license

import (
	"time"

	"github.com/seed-d8a106b4/licensekit/auth"
)

// A Page is one page of a list: its Data, HasMore and NextCursor. It is the
// same type as [auth.Page].
type Page[T any] = auth.Page[T]

// A ListPage is a [Page] of [Service.List].
type ListPage struct {
	Page[License]
	// PrevCursor reads the page before this one; empty: this is the first.
	PrevCursor string
	// SearchedTo is set if a search stopped before the page was full, because it
	// took too long: when the last license that it examined was created. The
	// search continues with NextCursor, or with PrevCursor if it read backward.
	SearchedTo time.Time
}
