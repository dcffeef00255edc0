package license

import (
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// A ListPage is a [api.Page] of [Service.List].
type ListPage struct {
	api.Page[api.License]
	// PrevCursor reads the page before this one; empty: this is the first.
	PrevCursor string
	// SearchedTo is set if a search stopped before the page was full, because it
	// took too long: when the last license that it examined was created. The
	// search continues with NextCursor, or with PrevCursor if it read backward.
	SearchedTo time.Time
}
