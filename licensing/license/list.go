package license

import "time"

// ListParams select licences. Every set field must match.
type ListParams struct {
	CustomerID string
	ProductID  string
	Status     Status
	// ExpiresBefore and ExpiresAfter leave licences with an ExpiresAt
	// before the one and not before the other.
	ExpiresBefore time.Time
	ExpiresAfter  time.Time
	// Search finds one licence by its whole id or key, or those that have
	// all its words in their name and customer id, in any case.
	Search string

	NewestFirst bool
	Limit       int    // 0: 50; else 1–200
	Cursor      string // the NextCursor of the page before
}

// A Page is a part of a list.
type Page struct {
	Licenses   []License
	NextCursor string // empty: this is the end
}
