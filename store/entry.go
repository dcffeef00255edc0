package store

import (
	"fmt"
	"time"
)

// An Entry is a small record with a key: a client, an operator, a webhook
// endpoint or a cursor, which last; an access token, a
// session, an idempotency reply or a sign-in failure, which expire. The package
// that writes a kind decides what the kind means and what Data holds.
type Entry struct {
	Kind string // such as "client" or "token"; at most [MaxKind] bytes
	// Key is unique within the kind: at most 2,000 bytes of valid UTF-8
	// without NUL.
	Key string
	// Owner groups entries of a kind that expire, such as the tokens of one
	// client; empty: none.
	Owner string
	Data  []byte
	// ExpiresAt is when the entry expires or is due; zero: never. The store
	// returns expired entries like any other: the rules look at the clock,
	// and delete them in time.
	ExpiresAt time.Time
	CreatedAt time.Time
	Move      Move
}

// The most bytes that the Kind and the Key of an entry have. With an Owner of 1,024
// bytes, an index by kind, owner, expiry and key has at most 3,064.
const (
	MaxKind = 32
	MaxKey  = 2000
)

// Check returns an error if the Kind of an entry is longer than [MaxKind]. Backends
// call it for each entry at the beginning of PutEntries.
func (e Entry) Check() error {
	if len(e.Kind) > MaxKind {
		return fmt.Errorf("the kind of an entry has %d bytes; at most %d are possible", len(e.Kind), MaxKind)
	}
	return nil
}

// A Move says what [Export] does with an entry.
type Move int

// What [Export] does with an entry.
const (
	Kept    Move = iota // it moves to the other store
	Passing             // it stays behind, because it does not last: a session, a token
	Derived             // it stays behind, and is derived from what has moved
)

// An EntryOrder is the order of a list of entries.
type EntryOrder int

// The orders of a list of entries.
const (
	// ByKey is the order of Key, byte by byte.
	ByKey EntryOrder = iota
	// ByExpiry is the order of (ExpiresAt, Key). Entries that never expire
	// are left out.
	ByExpiry
)

// An EntryQuery selects the entries of one kind. Every set field must match. A
// field that does not belong to the Order makes the query an error.
//
// A query without Kind, which has no field set but AfterKind, After and Limit,
// selects the entries of all kinds in the order of (Kind, Key).
type EntryQuery struct {
	Kind      string
	AfterKind string // without Kind: the Kind of the last entry of the page before
	Order     EntryOrder

	// Keys is for ByKey: only the entries with these keys, of which a query has
	// at most [MaxLimit], and neither From, Before nor After beside them; nil:
	// any. If it is empty and not nil, the list is empty.
	Keys       []string
	From       string // for ByKey: only keys at or above this one
	Before     string // for ByKey: only keys below this one; empty: no bound. See [PrefixEnd]
	Descending bool   // for ByKey: reverses the order

	Owner   string    // for ByExpiry: only entries of this owner
	Expires TimeRange // for ByExpiry: only entries whose ExpiresAt is in it; OrNone means nothing

	// After is the position of the last entry of the page before: its Key,
	// with ByExpiry its ExpiresAt and its Key.
	After Position
	Limit int
}

// Check returns an error if q is not a query that the contract knows. Backends
// call it at the beginning of Entries.
func (q EntryQuery) Check() error {
	switch {
	case q.Kind == "" && (q.Order != ByKey || q.Keys != nil || q.From != "" || q.Before != "" || q.Descending || q.AfterKind == "" && !q.After.IsZero()):
		return queryError("entries: other fields without Kind")
	case q.Kind != "" && q.AfterKind != "":
		return queryError("entries: Kind and AfterKind")
	case q.Order == ByKey && (q.Owner != "" || !q.Expires.IsZero()):
		return queryError("entries: Owner or Expires by key")
	case q.Order == ByExpiry && (q.Keys != nil || q.From != "" || q.Before != "" || q.Descending):
		return queryError("entries: Keys, From, Before or Descending by expiry")
	case q.Order != ByKey && q.Order != ByExpiry:
		return queryError("entries: their order")
	case q.Keys != nil && (q.From != "" || q.Before != "" || !q.After.IsZero()):
		return queryError("entries: Keys with From, Before or After")
	case len(q.Keys) > MaxLimit:
		return queryError("entries: more than 1000 Keys")
	}
	return nil
}

type queryError string

func (e queryError) Error() string { return "unknown query of " + string(e) }

// PrefixEnd returns the first string that is above all strings that begin with
// prefix: the Before of a query of those. It is empty, no bound, if there is
// none. The prefix must be valid UTF-8, and what it returns is.
func PrefixEnd(prefix string) string {
	runes := []rune(prefix)
	for i := len(runes) - 1; i >= 0; i-- {
		switch runes[i] {
		case 0x10FFFF:
			continue
		case 0xD7FF: // surrogates are no text
			return string(runes[:i]) + "\uE000"
		}
		return string(runes[:i]) + string(runes[i]+1)
	}
	return ""
}
