package license

import "time"

// CreateParams are the fields of a new license. Name, ProductID and
// CustomerID are required; the rest may stay zero. Their JSON names are those
// of the wire.
type CreateParams struct {
	// Texts are 1–255 characters of valid UTF-8, without control
	// characters and outer white space, and are kept exactly as given.
	Name       string `json:"name" validate:"text"`
	ProductID  string `json:"product_id" validate:"text"`
	CustomerID string `json:"customer_id" validate:"text,customer"` // not beginning with "lic_"

	// Key is the license's key; empty: one is made. See [NewKey] for the
	// form of ours; a key brought from elsewhere is 16 to 1,024 visible
	// ASCII characters, kept and compared exactly.
	Key string `json:"key" validate:"omitempty,key" wire:"filled"`

	// Times are cut to milliseconds, in the years 1970 to 9999.
	StartsAt  *time.Time `json:"starts_at" validate:"omitempty,instant" wire:"nullable"`
	ExpiresAt *time.Time `json:"expires_at" validate:"omitempty,instant" wire:"nullable"` // after StartsAt

	GraceSeconds   int64  `json:"grace_seconds" validate:"min=0,max=3155760000"`                           // at most 100 years
	MaxActivations *int64 `json:"max_activations" validate:"omitempty,min=0,max=1000000" wire:"nullable"`  // nil: unlimited
	LeaseSeconds   *int64 `json:"lease_seconds" validate:"omitempty,min=1,max=3155760000" wire:"nullable"` // nil: none

	// Entitlements are at most 100: under a name of 1–64 characters true,
	// a number (any Go number or json.Number that a float64 holds exactly
	// or as a fraction, kept as float64) or a text of 1–255.
	Entitlements map[string]any `json:"entitlements" wire:"nullable"`
	// Metadata is at most 50 entries: under a name of 1–64 characters a
	// text of at most 500, which may be empty. Whoever has the license's
	// key can read it.
	Metadata map[string]string `json:"metadata" wire:"nullable"`
}

// UpdateParams say which license to change and how. What is not set stays.
// The fields keep the bounds of [CreateParams].
type UpdateParams struct {
	// Exactly one of ID and Match names the license.
	ID    string `json:"-"`
	Match *Match `json:"-"`

	// IfMatch, when not nil, makes the update conditional: one of the
	// versions must be the current one, else the error is a [*StaleError].
	IfMatch []Version `json:"-"`

	Name       *string `json:"name"`
	ProductID  *string `json:"product_id"`
	CustomerID *string `json:"customer_id"`

	StartsAt       Change[time.Time] `json:"starts_at"`
	ExpiresAt      Change[time.Time] `json:"expires_at"`
	GraceSeconds   *int64            `json:"grace_seconds"`
	MaxActivations Change[int64]     `json:"max_activations"`
	LeaseSeconds   Change[int64]     `json:"lease_seconds"`

	// Entitlements and Metadata are merged by name: a nil value removes
	// its name, null removes all (RFC 7396).
	Entitlements Change[map[string]any]     `json:"entitlements"`
	Metadata     Change[map[string]*string] `json:"metadata"`
}

// A Match names the one license of a product and a customer. None is
// [ErrNotFound], more than one an [*AmbiguousError].
type Match struct {
	ProductID  string `json:"product_id" validate:"text"`
	CustomerID string `json:"customer_id" validate:"text"`
}

// A Change says what becomes of an optional field. The zero Change leaves it.
type Change[T any] struct {
	Set   bool // false: leave the field as it is
	Null  bool // with Set: make it null
	Value T    // with Set and not Null: the new value
}

// To returns the Change that sets a field to v.
func To[T any](v T) Change[T] { return Change[T]{Set: true, Value: v} }

// ToNull returns the Change that makes a field null.
func ToNull[T any]() Change[T] { return Change[T]{Set: true, Null: true} }

// apply changes *field.
func (c Change[T]) apply(field **T) {
	switch {
	case c.Set && c.Null:
		*field = nil
	case c.Set:
		*field = &c.Value
	}
}

// DeleteParams say which license to delete.
type DeleteParams struct {
	ID      string
	IfMatch []Version // as in [UpdateParams]
}
