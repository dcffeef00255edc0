package license

import "time"

// CreateParams are the fields of a new licence. Name, ProductID and
// CustomerID are required; the rest may stay zero. Their JSON names are those
// of the wire.
type CreateParams struct {
	Name       string `json:"name"`
	ProductID  string `json:"product_id"`
	CustomerID string `json:"customer_id"`

	// Key is the licence's key; empty: one is made. See [NewKey] for the
	// form of ours; a key brought from elsewhere is 16 to 255 visible
	// ASCII characters, kept and compared exactly.
	Key string `json:"key"`

	StartsAt       *time.Time `json:"starts_at"`
	ExpiresAt      *time.Time `json:"expires_at"` // after StartsAt
	GraceSeconds   int64      `json:"grace_seconds"`
	MaxActivations *int64     `json:"max_activations"`
	LeaseSeconds   *int64     `json:"lease_seconds"`

	// Entitlements are at most 100: a name of 1–64 characters, and true,
	// a number (any Go number, kept as float64) or a string of 1–255.
	Entitlements map[string]any `json:"entitlements"`
	// Metadata is at most 50 entries: a name of 1–64 characters, and a
	// text of at most 500.
	Metadata map[string]string `json:"metadata"`
}

// UpdateParams say which licence to change and how. What is not set stays.
type UpdateParams struct {
	// Exactly one of ID and Match names the licence.
	ID    string
	Match *Match

	// IfMatch, when not nil, makes the update conditional: one of the
	// versions must be the current one, else the error is a [*StaleError].
	IfMatch []Version

	Name       *string
	ProductID  *string
	CustomerID *string

	StartsAt       Change[time.Time]
	ExpiresAt      Change[time.Time]
	GraceSeconds   *int64
	MaxActivations Change[int64]
	LeaseSeconds   Change[int64]

	// Entitlements and Metadata are merged by name: a nil value removes
	// its name, null removes all (RFC 7396).
	Entitlements Change[map[string]any]
	Metadata     Change[map[string]*string]
}

// A Match names the one licence of a product and a customer. None is
// [ErrNotFound], more than one an [*AmbiguousError].
type Match struct {
	ProductID, CustomerID string
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

// DeleteParams say which licence to delete.
type DeleteParams struct {
	ID      string
	IfMatch []Version // as in [UpdateParams]
}
