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

	StartsAt  *time.Time `json:"starts_at"`  // nil: immediately
	ExpiresAt *time.Time `json:"expires_at"` // nil: never

	Terms // Entitlements is never nil

	// Metadata is set by the caller. Never nil.
	Metadata map[string]string `json:"metadata"`

	// Generation starts at 1 and is in every license file. It rises when the
	// license changes so that its earlier files promise too much; programs
	// with a revocation list refuse those.
	Generation int64 `json:"generation"`

	Revision  int64     `json:"revision"` // starts at 1; each change adds 1
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`

	PlanID    string `json:"plan_id,omitempty"`   // the plan whose terms it was given last
	Reference string `json:"reference,omitempty"` // the purchase that governs it; see [Purchase]

	// UpdatesUntil is the last instant at which a build may have been made that the
	// license is valid for; nil: any build. Older builds keep running.
	UpdatesUntil *time.Time `json:"updates_until,omitempty"`

	// Starts is [StartsActivation] until the license is first activated, if the end of one
	// of its purchases, or of its plan, is counted from that time.
	Starts Starts `json:"starts,omitempty"`

	// Upcoming is what time will change in the terms because purchases begin or end, the
	// earliest first. The end of the license is not one of these changes.
	Upcoming []UpcomingChange `json:"upcoming,omitempty"`
}

// An UpcomingChange is what time will change in a license at an instant. A field that is
// not set stays.
type UpcomingChange struct {
	At             time.Time         `json:"at"`
	EndsAt         *time.Time        `json:"ends_at,omitempty"` // when a purchase ends that the license outlives; At is the end of its grace period
	PlanID         string            `json:"plan_id,omitempty"`
	Reference      string            `json:"reference,omitempty"` // of the purchase that governs then
	ExpiresAt      Change[time.Time] `json:"expires_at,omitzero"`
	GraceSeconds   *int64            `json:"grace_seconds,omitempty"`
	MaxActivations Change[int64]     `json:"max_activations,omitzero"`
	LeaseSeconds   Change[int64]     `json:"lease_seconds,omitzero"`
	OfflineSeconds Change[int64]     `json:"offline_seconds,omitzero"`
	UpdatesUntil   Change[time.Time] `json:"updates_until,omitzero"`
	Entitlements   map[string]any    `json:"entitlements,omitempty"` // by name; nil: removed
	Meters         map[string]*Meter `json:"meters,omitempty"`       // by name; nil: removed
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

// CreateLicenseParams are the fields of a new license. Name, ProductID and
// CustomerID are required.
type CreateLicenseParams struct {
	// Names and IDs are 1–255 characters of valid UTF-8 without control
	// characters or surrounding white space. They are stored unchanged.
	Name       string `json:"name" validate:"text"`
	ProductID  string `json:"product_id" validate:"text"`
	CustomerID string `json:"customer_id" validate:"text,customer"` // must not begin with "lic_"

	// Key is the license key; empty: generate one. A key from another system is
	// 16 to 1,024 visible ASCII characters, and is stored and returned as
	// supplied, but for characters that no key has: white space, invisible
	// characters and typographic quotes are dropped, and dashes and full-width
	// characters become those of ASCII. Keys that read as the same generated key
	// are the same; all others are compared exactly.
	Key string `json:"key" validate:"omitempty,key" wire:"filled"`

	// Times are truncated to milliseconds; years 1970 to 9999.
	StartsAt  *time.Time `json:"starts_at" validate:"omitempty,instant" wire:"nullable"`  // nil: immediately
	ExpiresAt *time.Time `json:"expires_at" validate:"omitempty,instant" wire:"nullable"` // after StartsAt; nil: never

	Terms

	UpdatesUntil *time.Time `json:"updates_until,omitempty" validate:"omitempty,instant" wire:"nullable"` // as in [License]; nil: the license is valid for any build

	// Metadata has at most 50 entries. Names are 1–64 characters; values are
	// at most 500 and may be empty. License key holders can read it.
	Metadata map[string]string `json:"metadata" wire:"nullable,max=50,each=500"`

	// PlanID is a plan that fills in what is not set: ProductID, which the plan must
	// have if it is set, ExpiresAt or UpdatesUntil, and each field of Terms. An import
	// fills in nothing.
	PlanID string `json:"plan_id,omitempty" validate:"omitempty,identifier" wire:"filled"`

	// Only in Go code of the service:

	// Explicit names the fields, by their JSON names, that PlanID does not fill in
	// although they are zero or nil.
	Explicit []string `json:"-" wire:"names"`
}

// UpdateLicenseParams select a license and the fields to change; unset fields keep
// their values. The limits of [CreateLicenseParams] apply.
type UpdateLicenseParams struct {
	// Exactly one of ID and Match names the license. Over HTTP, Match needs Name.
	ID    string `json:"-" path:"licenseID"`
	Match *Match `json:"-"`

	// IfMatch, if not nil, makes the update conditional: it fails unless one of the
	// versions is the current one.
	IfMatch []Version `json:"-" header:"If-Match"`

	Name       *string `json:"name"`
	ProductID  *string `json:"product_id"`
	CustomerID *string `json:"customer_id"`

	StartsAt       Change[time.Time] `json:"starts_at"`
	ExpiresAt      Change[time.Time] `json:"expires_at"`
	GraceSeconds   *int64            `json:"grace_seconds"`
	MaxActivations Change[int64]     `json:"max_activations"`
	LeaseSeconds   Change[int64]     `json:"lease_seconds"`
	OfflineSeconds Change[int64]     `json:"offline_seconds"`
	UpdatesUntil   Change[time.Time] `json:"updates_until"`

	// Entitlements and Metadata are merged by name (RFC 7396): a nil value
	// removes its entry, null removes all entries.
	Entitlements Change[map[string]any]     `json:"entitlements"`
	Metadata     Change[map[string]*string] `json:"metadata"`

	// Meters are merged in the same way, and so are the fields of each: a meter that the
	// license does not have is added.
	Meters Change[map[string]*MeterChange] `json:"meters"`
}

// A Match selects the license of a product and a customer.
type Match struct {
	ProductID  string `json:"product_id" validate:"text"`
	CustomerID string `json:"customer_id" validate:"text"`
}
