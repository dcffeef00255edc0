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
	// Text is what [Reader.FindLicenses] searches: at most [MaxText] bytes, which
	// the caller has folded. The store compares its bytes.
	Text     string
	Document []byte // opaque to the store
}

// MaxText is the most bytes that the Text of a license has.
const MaxText = 4096

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
// matches all. A field that is set and that the method does not know makes the
// query an error: each field is for Licenses, FindLicenses and CountLicenses,
// unless its comment says otherwise.
type LicenseQuery struct {
	CustomerID string
	ProductID  string
	State      State
	Starts     TimeRange
	Expires    TimeRange

	// IDs is for Licenses by ID: only licenses with these IDs, at most
	// [MaxLimit] of them; nil: any. If it is empty and not nil, the list is
	// empty.
	IDs []string

	// Text is for FindLicenses: only licenses whose Text contains each of
	// these strings, at most 100, byte for byte.
	Text []string
	// KeyPart is for FindLicenses: only licenses whose Key contains it, byte
	// for byte.
	KeyPart string
	// Examine is for FindLicenses: the most licenses that a call examines; see
	// [Examined].
	Examine int

	Order      LicenseOrder
	Descending bool // for lists: reverses the whole order, ties included

	// After is for lists: the position of the last license of the previous
	// page or, for FindLicenses, what the previous call returned as next. The
	// list continues after it, in its direction, whether or not a license at
	// that position still exists. The zero Position starts at the beginning.
	After Position
	Limit int // for lists: the most licenses that a call returns
}

// Check returns an error if q is not a query of Licenses. Backends call it at the
// beginning of Licenses.
func (q LicenseQuery) Check() error {
	switch {
	case q.Order < ByID || q.Order > ByStartsAt:
		return queryError("licenses: their order")
	case q.Text != nil || q.KeyPart != "" || q.Examine != 0:
		return queryError("licenses: Text, KeyPart or Examine, which are for FindLicenses")
	case q.IDs != nil && q.Order != ByID:
		return queryError("licenses: IDs with another order than ByID")
	case len(q.IDs) > MaxLimit:
		return queryError("licenses: more than 1000 IDs")
	}
	return nil
}

// CheckFind returns an error if q is not a query of FindLicenses. Backends call it
// at the beginning of FindLicenses.
func (q LicenseQuery) CheckFind() error {
	switch {
	case q.Order < ByID || q.Order > ByStartsAt:
		return queryError("licenses: their order")
	case q.IDs != nil:
		return queryError("licenses: a search among IDs")
	case len(q.Text) > maxTexts:
		return queryError("licenses: a search for more than 100 Texts")
	}
	return nil
}

// CheckCount returns an error if q and edges are not a query of CountLicenses.
// Backends call it at the beginning of CountLicenses.
func (q LicenseQuery) CheckCount(edges []Position) error {
	switch {
	case q.Order < ByID || q.Order > ByStartsAt:
		return queryError("licenses: their order")
	case q.Text != nil || q.KeyPart != "" || q.Examine != 0 || q.IDs != nil || q.Descending || !q.After.IsZero() || q.Limit != 0:
		return queryError("licenses: a count with Text, KeyPart, Examine, IDs, Descending, After or Limit")
	case len(edges) > MaxLimit:
		return queryError("licenses: a count with more than 1000 edges")
	}
	for i := 1; i < len(edges); i++ {
		from, to := edges[i-1], edges[i]
		if q.Order == ByID {
			from.Time, to.Time = time.Time{}, time.Time{}
		}
		if c := from.Time.Compare(to.Time); c > 0 || c == 0 && from.ID > to.ID {
			return queryError("licenses: a count with edges that do not rise")
		}
	}
	return nil
}

// maxTexts is the most strings that the Text of a query has.
const maxTexts = 100

// MaxExamined is the most licenses that one call of FindLicenses examines.
const MaxExamined = 10_000

// Examined returns n if it is within 1 and [MaxExamined], and MaxExamined
// otherwise. Backends call it on the Examine of a query.
func Examined(n int) int {
	if n < 1 || n > MaxExamined {
		return MaxExamined
	}
	return n
}

// Walked returns q with only those filters that the index serves which a list of q
// without IDs walks: every license in that part of the index matches. The package
// documentation has a table of the indexes.
func (q LicenseQuery) Walked() LicenseQuery {
	w := LicenseQuery{ProductID: q.ProductID, Order: q.Order, Descending: q.Descending, After: q.After, Limit: q.Limit}
	switch {
	case q.Order == ByExpiresAt:
		if w.Expires = q.Expires; q.ProductID == "" && q.State != StateActive {
			w.State = q.State
		}
	case q.Order == ByStartsAt:
		w.Starts = q.Starts
	case q.CustomerID != "":
		w.CustomerID = q.CustomerID
	case q.ProductID == "" || q.State != StateActive:
		w.State = q.State
	}
	return w
}

// Position returns the place of l in the order of q.
func (q LicenseQuery) Position(l License) Position {
	switch q.Order {
	case ByExpiresAt:
		return Position{l.ExpiresAt, l.ID}
	case ByStartsAt:
		return Position{l.StartsAt, l.ID}
	}
	return Position{ID: l.ID}
}

// A NamesQuery selects customers or products in order of their names, byte by byte.
type NamesQuery struct {
	By    NameOrder
	After string // the last name of the previous page
	Limit int
}

// Check returns an error if q is not a query that the contract knows. Backends
// call it at the beginning of LicenseNames.
func (q NamesQuery) Check() error {
	if q.By != ByCustomer && q.By != ByProduct {
		return queryError("names: By")
	}
	return nil
}

// A NameOrder says which names of licenses are listed.
type NameOrder int

// The names of licenses.
const (
	ByCustomer NameOrder = iota // CustomerID
	ByProduct                   // ProductID
)

// A NameCount is a customer or a product, and how many licenses it has.
type NameCount struct {
	Name  string
	Count int64
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
