package store

import "time"

// A License is the stored record of a license: its id, its key, the fields that
// a [LicenseQuery] names, and one document with all others. The store gives no
// meaning to the document.
type License struct {
	ID         string // unique; time-ordered; chosen by the caller
	Key        string // unique; up to 1,024 bytes of ASCII
	CustomerID string
	ProductID  string
	State      State     // stored state; the caller derives what depends on the time
	StartsAt   time.Time // zero: none
	ExpiresAt  time.Time // zero: none
	Document   []byte    // opaque to the store
}

// A State is the stored state of a license. The store treats it as plain text.
type State string

// The stored states. "scheduled" and "expired" are not among them: they
// follow from the clock, and a store never reads one.
const (
	StateActive    State = "active"
	StateSuspended State = "suspended"
	StateRevoked   State = "revoked"
)

// A LicenseQuery selects licenses. Every set field must match; the zero query
// matches all.
type LicenseQuery struct {
	CustomerID string
	ProductID  string
	State      State
	IDs        []string // with ByID: only licenses with these IDs, at most [MaxLimit] of them; nil: any
	Starts     TimeRange
	Expires    TimeRange

	Order      LicenseOrder
	Descending bool // reverses the whole order, ties included

	// After is the position of the last license of the previous page. The
	// list continues after it, in its direction, whether or not a license at
	// that position still exists. The zero Position starts at the beginning.
	After Position
	Limit int
}

// Check returns an error if the contract does not allow q. Backends call it at the
// beginning of Licenses.
func (q LicenseQuery) Check() error {
	switch {
	case q.IDs != nil && q.Order != ByID:
		return queryError("licenses: IDs with another order than ByID")
	case len(q.IDs) > MaxLimit:
		return queryError("licenses: more than 1000 IDs")
	}
	return nil
}

// A LicenseOrder is the order of a list of licenses.
type LicenseOrder int

// The orders of a list of licenses. Ties of time are broken by ID.
const (
	ByID        LicenseOrder = iota // by ID, byte by byte, and so by time of creation
	ByExpiresAt                     // by (ExpiresAt, ID); licenses without ExpiresAt are left out
	ByStartsAt                      // by (StartsAt, ID); licenses without StartsAt are left out
)

// A Position is a place in a list: the values of its order's columns at one
// row. Time is used only by orders that begin with a time.
type Position struct {
	Time time.Time
	ID   string // an entry's Key in a list of entries
}

// IsZero reports whether p is the beginning of a list.
func (p Position) IsZero() bool { return p.ID == "" && p.Time.IsZero() }

// A TimeRange selects times t with From ≤ t < Before. A zero bound is open,
// and the zero TimeRange matches everything, including records without the time.
// When either bound is set, a record without the time matches only if OrNone
// is set.
type TimeRange struct {
	From   time.Time
	Before time.Time
	OrNone bool
}

// IsZero reports whether r matches everything.
func (r TimeRange) IsZero() bool { return r.From.IsZero() && r.Before.IsZero() }

// Contains reports whether t, zero meaning none, is in r.
func (r TimeRange) Contains(t time.Time) bool {
	if r.IsZero() {
		return true
	}
	if t.IsZero() {
		return r.OrNone
	}
	return (r.From.IsZero() || !t.Before(r.From)) && (r.Before.IsZero() || t.Before(r.Before))
}
