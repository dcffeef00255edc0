package api

import "time"

// A License is one license at the instant it was read. Times are in UTC,
// truncated to milliseconds.
type License struct {
	Object       string        `json:"object"` // always "license"
	ID           string        `json:"id"`     // "lic_" and 26 characters; sortable by time of creation
	Name         string        `json:"name"`
	ProductID    string        `json:"product_id"`
	CustomerID   string        `json:"customer_id"`
	Key          string        `json:"key,omitempty"` // omitted in events and verdicts
	Status       LicenseStatus `json:"status"`
	StatusReason string        `json:"status_reason,omitempty"` // reason of the last suspend, reinstate or revoke

	StartsAt     *time.Time `json:"starts_at"`     // nil: immediately
	ExpiresAt    *time.Time `json:"expires_at"`    // nil: never
	GraceSeconds int64      `json:"grace_seconds"` // how long the license stays valid after ExpiresAt

	MaxActivations *int64 `json:"max_activations"` // nil: unlimited
	LeaseSeconds   *int64 `json:"lease_seconds"`   // nil: activations last until released
	OfflineSeconds *int64 `json:"offline_seconds"` // how long a license file for a key holder is valid at most; nil: the default of the service; 0: two checks

	// Generation starts at 1 and is in every license file. It rises when the
	// license changes so that its earlier files promise too much; programs
	// with a revocation list refuse those.
	Generation int64 `json:"generation"`

	// Entitlements maps names to true, a float64 or a string. Never nil.
	Entitlements map[string]any `json:"entitlements"`
	// Metadata is set by the caller. Never nil.
	Metadata map[string]string `json:"metadata"`

	Revision  int64     `json:"revision"` // starts at 1; each change adds 1
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
}

// Version returns the version that IfMatch compares and the ETag encodes.
func (l License) Version() Version { return Version{Revision: l.Revision, Status: l.Status} }

// ETag returns the entity tag of this version of the license.
func (l License) ETag() string { return l.Version().ETag() }

// A LicenseStatus is the status of a license at an instant. It is derived from
// the stored state and the clock on every read; no background work changes it.
type LicenseStatus string

// The statuses in order of precedence: a suspended license past its ExpiresAt
// is suspended. A license is expired from ExpiresAt, and scheduled before
// StartsAt.
const (
	LicenseRevoked   LicenseStatus = "revoked"
	LicenseSuspended LicenseStatus = "suspended"
	LicenseExpired   LicenseStatus = "expired" // within the grace period, still valid
	LicenseScheduled LicenseStatus = "scheduled"
	LicenseActive    LicenseStatus = "active"
)
