package api

import "time"

// CreateLicenseParams are the fields of a new license. Name, ProductID and
// CustomerID are required.
type CreateLicenseParams struct {
	// Names and IDs are 1–255 characters of valid UTF-8 without control
	// characters or surrounding white space. They are stored unchanged.
	Name       string `json:"name" validate:"text"`
	ProductID  string `json:"product_id" validate:"text"`
	CustomerID string `json:"customer_id" validate:"text,customer"` // must not begin with "lic_"

	// Key is the license key; empty: generate one. A key from another system is
	// 16 to 1,024 visible ASCII characters. It is returned as supplied. Keys that
	// read as the same generated key are the same; all others are compared
	// exactly.
	Key string `json:"key" validate:"omitempty,key" wire:"filled"`

	// Times are truncated to milliseconds; years 1970 to 9999.
	StartsAt  *time.Time `json:"starts_at" validate:"omitempty,instant" wire:"nullable"`  // nil: immediately
	ExpiresAt *time.Time `json:"expires_at" validate:"omitempty,instant" wire:"nullable"` // after StartsAt; nil: never

	GraceSeconds   int64  `json:"grace_seconds" validate:"min=0,max=3155760000"`                            // at most 100 years
	MaxActivations *int64 `json:"max_activations" validate:"omitempty,min=0,max=1000000" wire:"nullable"`   // nil: unlimited
	LeaseSeconds   *int64 `json:"lease_seconds" validate:"omitempty,min=1,max=3155760000" wire:"nullable"`  // nil: none
	OfflineSeconds *int64 `json:"offline_seconds" validate:"omitempty,min=0,max=315576000" wire:"nullable"` // nil: the default of the service; 0: two checks

	// Entitlements has at most 100 entries. Names are 1–64 characters.
	// Values are true, a number or a string of 1–255 characters. Numbers may
	// be of any Go number type or json.Number and are stored as float64;
	// whole numbers must be exact as float64.
	Entitlements map[string]any `json:"entitlements" wire:"nullable"`
	// Metadata has at most 50 entries. Names are 1–64 characters; values are
	// at most 500 and may be empty. License key holders can read it.
	Metadata map[string]string `json:"metadata" wire:"nullable"`
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

	// Entitlements and Metadata are merged by name (RFC 7396): a nil value
	// removes its entry, null removes all entries.
	Entitlements Change[map[string]any]     `json:"entitlements"`
	Metadata     Change[map[string]*string] `json:"metadata"`
}

// A Match selects the license of a product and a customer.
type Match struct {
	ProductID  string `json:"product_id" validate:"text"`
	CustomerID string `json:"customer_id" validate:"text"`
}

// DeleteLicenseParams select a license.
type DeleteLicenseParams struct {
	ID      string    `json:"-" path:"licenseID"`
	IfMatch []Version `json:"-" header:"If-Match"` // as in [UpdateLicenseParams]
}

// MoveLicenseParams are the parameters of a suspension, a reinstatement and a
// revocation.
type MoveLicenseParams struct {
	ID string `json:"-" path:"licenseID"`
	// Reason becomes the license's StatusReason, which license key holders
	// can read in verdicts, and is recorded in the event. At most 255
	// characters.
	Reason  string    `json:"reason" validate:"omitempty,text"`
	IfMatch []Version `json:"-" header:"If-Match"` // as in [UpdateLicenseParams]
}

// RenewLicenseParams are the parameters of a renewal.
type RenewLicenseParams struct {
	ID string `json:"-" path:"licenseID"`
	// Exactly one of ExpiresAt and Duration must be set.
	ExpiresAt *time.Time `json:"expires_at" validate:"omitempty,instant" wire:"nullable"`
	Duration  Duration   `json:"duration"`
	// From is the start of Duration. Default: [FromLater].
	From    RenewFrom `json:"from" validate:"omitempty,oneof=later expiry now" wire:"filled"`
	Reason  string    `json:"reason" validate:"omitempty,text"` // recorded in the event
	IfMatch []Version `json:"-" header:"If-Match"`              // as in [UpdateLicenseParams]
}

// A RenewFrom is the start of a renewal's duration.
type RenewFrom string

// The values of RenewFrom.
const (
	FromLater  RenewFrom = "later"  // the later of ExpiresAt and now: no paid time is lost
	FromExpiry RenewFrom = "expiry" // the license's ExpiresAt
	FromNow    RenewFrom = "now"
)

// RekeyLicenseParams are the parameters of a new license key.
type RekeyLicenseParams struct {
	ID      string    `json:"-" path:"licenseID"`
	Key     string    `json:"key" validate:"omitempty,key" wire:"filled"` // as in [CreateLicenseParams]; empty: generate one
	Reason  string    `json:"reason" validate:"omitempty,text"`           // recorded in the event
	IfMatch []Version `json:"-" header:"If-Match"`                        // as in [UpdateLicenseParams]
}

// ExplainLicenseParams ask for the verdict on a license. Fields that are not set
// are not checked.
type ExplainLicenseParams struct {
	ID           string    `json:"-" path:"licenseID"`
	At           time.Time `query:"at" validate:"omitempty,instant"` // zero: now
	ProductID    string    `query:"product_id" validate:"omitempty,text"`
	CustomerID   string    `query:"customer_id" validate:"omitempty,text"`
	Fingerprint  string    `query:"fingerprint" validate:"omitempty,text"`
	Entitlements []string  `query:"entitlements" validate:"max=100,dive,text"`
}

// ListRefusalsParams select the refusals of a license.
type ListRefusalsParams struct {
	ID string `json:"-" path:"licenseID"`
}
