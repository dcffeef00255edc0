package api

import "encoding/json"

// A Change is a change of an optional field. The zero Change leaves the
// field unchanged; [To] sets it, and [ToNull] removes its value.
type Change[T any] struct {
	Set   bool // false: leave the field unchanged
	Null  bool // with Set: set the field to null
	Value T    // with Set and not Null: the new value
}

// To returns a Change that sets a field to v.
func To[T any](v T) Change[T] { return Change[T]{Set: true, Value: v} }

// ToOptional returns a Change that sets a field to *v, or that leaves it unchanged if
// v is nil.
func ToOptional[T any](v *T) Change[T] {
	if v == nil {
		return Change[T]{}
	}
	return To(*v)
}

// ToNull returns a Change that sets a field to null.
func ToNull[T any]() Change[T] { return Change[T]{Set: true, Null: true} }

// Assign sets c to null, or to the value that it returns a pointer to. It is for
// decoders.
func (c *Change[T]) Assign(null bool) (value any) {
	c.Set, c.Null = true, null
	return &c.Value
}

// IsZero reports whether c changes nothing.
func (c Change[T]) IsZero() bool { return !c.Set }

// MarshalJSON returns the new value, or null.
func (c Change[T]) MarshalJSON() ([]byte, error) {
	if c.Null {
		return []byte("null"), nil
	}
	return json.Marshal(c.Value)
}

// UnmarshalJSON reads what MarshalJSON returns.
func (c *Change[T]) UnmarshalJSON(b []byte) error {
	*c = Change[T]{Set: true, Null: string(b) == "null"}
	if c.Null {
		return nil
	}
	return json.Unmarshal(b, &c.Value)
}

// Erased is the result of Service.EraseCustomer.
type Erased struct {
	Licenses  int `json:"licenses"`           // deleted
	Events    int `json:"events"`             // blanked
	Purchases int `json:"purchases,omitzero"` // blanked; see Service.RecordPurchase of package selling
}

// ChangedCustomerID is the result of Service.ChangeCustomerID.
type ChangedCustomerID struct {
	Licenses  int `json:"licenses"`  // that have the new ID
	Purchases int `json:"purchases"` // that have the new ID, beside those of these licenses
}
