package license

import "time"

// A License is one license as it is at the instant it was read. Its JSON is
// its form on the wire; times are in UTC, to the millisecond.
type License struct {
	Object       string `json:"object"` // always "license"
	ID           string `json:"id"`     // "lic_" and 26 characters; sortable by time of creation
	Name         string `json:"name"`
	ProductID    string `json:"product_id"`
	CustomerID   string `json:"customer_id"`
	Key          string `json:"key,omitempty"` // left out of events and verdicts
	Status       Status `json:"status"`
	StatusReason string `json:"status_reason,omitempty"` // given with the last suspend, reinstate or revoke

	StartsAt     *time.Time `json:"starts_at"`     // nil: from the beginning
	ExpiresAt    *time.Time `json:"expires_at"`    // nil: never
	GraceSeconds int64      `json:"grace_seconds"` // after ExpiresAt still valid, in grace

	MaxActivations *int64 `json:"max_activations"` // nil: unlimited
	LeaseSeconds   *int64 `json:"lease_seconds"`   // nil: an activation lasts until it is released

	// Entitlements holds true, float64 or string under each name.
	// Never nil.
	Entitlements map[string]any `json:"entitlements"`
	// Metadata is the caller's own. Never nil.
	Metadata map[string]string `json:"metadata"`

	Revision  int64     `json:"revision"` // 1 at first; one more with every change
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
}

// Version returns what IfMatch compares, and an entity tag is made of.
func (l License) Version() Version { return Version{Revision: l.Revision, Status: l.Status} }
