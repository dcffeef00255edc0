package license

import "time"

// CreateParams are the fields of a new license. Name, ProductID and
// CustomerID are required. The JSON names are those of the API.
type CreateParams struct {
	// Names and IDs are 1–255 characters of valid UTF-8 without control
	// characters or surrounding white space. They are stored unchanged.
	Name       string `json:"name" validate:"text"`
	ProductID  string `json:"product_id" validate:"text"`
	CustomerID string `json:"customer_id" validate:"text,customer"` // must not begin with "lic_"

	// Key is the license key; empty: generate one, see [NewKey]. A key from
	// another system is 16 to 1,024 visible ASCII characters. It is returned
	// as supplied. Keys that [ParseKey] reads as the same key are the same;
	// all others are compared exactly.
	Key string `json:"key" validate:"omitempty,key" wire:"filled"`

	// Times are truncated to milliseconds; years 1970 to 9999.
	StartsAt  *time.Time `json:"starts_at" validate:"omitempty,instant" wire:"nullable"`
	ExpiresAt *time.Time `json:"expires_at" validate:"omitempty,instant" wire:"nullable"` // after StartsAt

	GraceSeconds   int64  `json:"grace_seconds" validate:"min=0,max=3155760000"`                            // at most 100 years
	MaxActivations *int64 `json:"max_activations" validate:"omitempty,min=0,max=1000000" wire:"nullable"`   // nil: unlimited
	LeaseSeconds   *int64 `json:"lease_seconds" validate:"omitempty,min=1,max=3155760000" wire:"nullable"`  // nil: none
	OfflineSeconds *int64 `json:"offline_seconds" validate:"omitempty,min=0,max=315576000" wire:"nullable"` // nil: Options.MaxOffline; 0: two checks

	// Entitlements has at most 100 entries. Names are 1–64 characters.
	// Values are true, a number or a string of 1–255 characters. Numbers may
	// be of any Go number type or json.Number and are stored as float64;
	// whole numbers must be exact as float64.
	Entitlements map[string]any `json:"entitlements" wire:"nullable"`
	// Metadata has at most 50 entries. Names are 1–64 characters; values are
	// at most 500 and may be empty. License key holders can read it.
	Metadata map[string]string `json:"metadata" wire:"nullable"`
}

// UpdateParams select a license and the fields to change; unset fields keep
// their values. The limits of [CreateParams] apply.
type UpdateParams struct {
	// Exactly one of ID and Match names the license.
	ID    string `json:"-"`
	Match *Match `json:"-"`

	// IfMatch, if not nil, makes the update conditional: Update returns a
	// [*StaleError] unless one of the versions is the current one.
	IfMatch []Version `json:"-"`

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

// A Match selects the license of a product and a customer. If none matches,
// the error is [ErrNotFound]; if several match, an [*AmbiguousError].
type Match struct {
	ProductID  string `json:"product_id" validate:"text"`
	CustomerID string `json:"customer_id" validate:"text"`
}

// DeleteParams are the parameters of [Service.Delete].
type DeleteParams struct {
	ID      string
	IfMatch []Version // as in [UpdateParams]
}
