package store

import "time"

// An Entry is a small record with a key: a client, an operator, a webhook
// endpoint or a cursor, which last; an access token, a session, an
// idempotency reply or a sign-in failure, which expire. What a kind means,
// and what Data holds, is the affair of the package that writes it.
type Entry struct {
	Kind string // such as "client" or "token"
	Key  string // unique within the kind
	// Owner groups entries of a kind, such as the tokens of one client;
	// empty: none.
	Owner string
	Data  []byte
	// ExpiresAt is when the entry stops counting; zero: never. The store
	// returns expired entries like any other: the rules look at the clock,
	// and delete them in time.
	ExpiresAt time.Time
	CreatedAt time.Time
}

// An EntryQuery selects the entries of one kind in order of (ExpiresAt, Key):
// those that never expire first, then those that expire soonest.
type EntryQuery struct {
	Kind  string // required
	Owner string // only entries of this owner
	// Expires narrows by ExpiresAt; entries that never expire match a set
	// range only if its OrNone is set.
	Expires TimeRange
	After   Position // (ExpiresAt, Key) of the last entry of the page before
	Limit   int
}
