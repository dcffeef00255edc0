package store

import "context"

// A Store keeps the data of one owner: licenses and their activations, the
// events of every change, and entries, the small records that everything else
// is made of.
//
// Everything an implementer needs is in this file and in the records beside
// it; the rules that each method keeps are numbered in the package comment,
// and package storetest checks them one by one.
//
// A Store is safe for concurrent use by many goroutines.
type Store interface {
	// The Reader's methods, called on the Store itself, are each one
	// consistent read of what is committed.
	Reader

	// View calls fn with a Reader on one snapshot: every read in fn sees
	// the same state, whatever is committed meanwhile. It returns fn's
	// error. The Reader must not be used after fn has returned, and fn must
	// not call Update on the same Store.
	View(ctx context.Context, fn func(Reader) error) error

	// Update calls fn with a Tx and commits what fn wrote if fn returns
	// nil, or undoes all of it and returns fn's error. Updates are
	// serializable: the outcome is that of running them one after another.
	//
	// fn may run more than once before Update returns, each time on a fresh
	// Tx with the earlier run undone, so it must have no effect beyond
	// the Tx but for overwriting variables. A run may take place before the
	// Update has its place among the others. Its reads may then not fit each
	// other, as those of no single state would, and fn runs again: its result,
	// an error or a panic included, leaves Update only if all that it read
	// holds at one place in the order. A fn that reads and writes nothing need
	// not reach the database. fn must not call Update or View on the same
	// Store.
	Update(ctx context.Context, fn func(Tx) error) error
}

// A Tx reads and writes inside one Update. It sees its own writes. It is for
// use by one goroutine, and every method returns [ErrTxDone] once fn has
// returned.
//
// A sentinel that one of its methods returns ([ErrNotFound], [ErrExists])
// means that this call did nothing; the Tx stays usable and may commit.
type Tx interface {
	Reader
	Writer

	// Want is a hint: fn will read these records next, unless an error ends
	// it. A backend to which each read is a round trip may read all of them
	// in one, or presume that what is most probably absent is, and run fn
	// again if it is not. It changes no answer, and what is not read after it
	// counts as not read. Nothing that w names makes it fail. A backend that has
	// no use for it returns [ErrTxDone] once fn has returned, the error of ctx if
	// that has ended, and nil otherwise.
	Want(ctx context.Context, w Wanted) error
}

// Wanted names the records of a [Tx.Want]. A field that is not set names none.
type Wanted struct {
	LicenseID    string      // the license, by its ID
	LicenseKey   string      // the license, by its Key
	Fingerprints []string    // with LicenseID: the activations of that license
	Activations  bool        // with LicenseID: the list of its activations, which is most probably empty
	Entries      [][2]string // entries, by Kind and Key
	Absent       [][2]string // entries that most probably do not exist, by Kind and Key
}

// A Reader reads records. Lists come in the order that their query type
// documents, at most Limit rows a call.
type Reader interface {
	// Licenses.

	// License returns the license with that id, or [ErrNotFound].
	License(ctx context.Context, id string) (License, error)
	// LicenseByKey returns the license with exactly that key, or [ErrNotFound].
	LicenseByKey(ctx context.Context, key string) (License, error)
	// Licenses lists the licenses that match every set field of q.
	Licenses(ctx context.Context, q LicenseQuery) ([]License, error)
	// FindLicenses searches the licenses that match every set field of q. It
	// continues after q.After, examines at most q.Examine licenses of the index
	// it walks, and returns the matches, up to Limit. It ends there: next is the
	// After of the call that continues, and zero at the end. A call may find
	// nothing and return a next, and next may lie far after the last license
	// found.
	//
	// Between two calls the store keeps nothing. A license that exists, matches
	// and keeps its place from the first to the last call of such a chain is
	// found by exactly one of them.
	FindLicenses(ctx context.Context, q LicenseQuery) (found []License, next Position, err error)
	// CountLicenses counts the licenses that match every set field of q and
	// are in q.Order, exactly and on one state. Without edges it returns one
	// number. With n edges, none of which is below the one before in q.Order,
	// it returns n-1 numbers, none for one edge: each counts the licenses at or
	// after one edge and before the next.
	CountLicenses(ctx context.Context, q LicenseQuery, edges ...Position) ([]int64, error)
	// LicenseNames lists the customers or the products that have licenses, and
	// how many, exactly and on one state. The empty name is left out.
	LicenseNames(ctx context.Context, q NamesQuery) ([]NameCount, error)

	// Activations: the seats of a license.

	// Activation returns the activation of that license by that fingerprint, or [ErrNotFound].
	Activation(ctx context.Context, licenseID, fingerprint string) (Activation, error)
	// Activations lists the activations of one license, or those with a prefix
	// of their Fingerprint.
	Activations(ctx context.Context, q ActivationQuery) ([]Activation, error)

	// Events: the feed, and the history of one subject.

	// Events lists events by their Seq.
	Events(ctx context.Context, q EventQuery) ([]Event, error)

	// Entries: everything else, such as clients, tokens, sessions, webhooks,
	// deliveries and cursors.

	// Entry returns the entry of that kind and key, whether or not its
	// ExpiresAt has passed, or [ErrNotFound].
	Entry(ctx context.Context, kind, key string) (Entry, error)
	// Entries lists the entries of one kind, by key or by expiry.
	Entries(ctx context.Context, q EntryQuery) ([]Entry, error)
}

// A Writer writes records inside an Update. A call that returns an error has
// done nothing, also if it was given several records.
type Writer interface {
	// Licenses.

	// CreateLicenses adds licenses, or returns [ErrExists] if the ID or the
	// Key of one is taken by another, stored or in the call, or if there are
	// activations of a deleted license with its ID.
	CreateLicenses(ctx context.Context, licenses ...License) error
	// UpdateLicense replaces the license with l's ID, or returns
	// [ErrNotFound]; [ErrExists] if another license has l's Key.
	UpdateLicense(ctx context.Context, l License) error
	// DeleteLicense removes the license with that id, or returns
	// [ErrNotFound]. It leaves the license's activations, which may be many,
	// for DeleteActivations to remove in several Updates.
	DeleteLicense(ctx context.Context, id string) error

	// Activations.

	// PutActivations adds activations, or replaces those of the same
	// LicenseID and ID, in the order in which they are given. It returns
	// [ErrNotFound] if the license of one does not exist, and [ErrExists] if
	// another of its license has its Fingerprint at that point, stored or put
	// earlier in the call; one of the two if both hold. A Fingerprint that an
	// earlier one in the call has given up is free.
	PutActivations(ctx context.Context, activations ...Activation) error
	// DeleteActivations removes the activations of a license with these ids,
	// all different, or returns [ErrNotFound] if one of them is missing.
	DeleteActivations(ctx context.Context, licenseID string, ids ...string) error

	// Events.

	// AppendEvents adds events at the end of the feed. Each is given its own
	// Seq if that is above every Seq that was given before, as in an [Import],
	// and otherwise a new one, which is the next number if the event before it
	// in the call brought its own. It never returns [ErrExists]. Lists in the
	// Update show the Seqs, which count only if it commits.
	AppendEvents(ctx context.Context, events ...Event) error
	// ReplaceEvent overwrites CustomerID and Data of the event with e's Seq
	// and leaves its other fields and its place in the feed, or returns
	// [ErrNotFound].
	ReplaceEvent(ctx context.Context, e Event) error
	// DeleteEvents removes the oldest events with a Seq of at most through,
	// at most limit of them, none if through or limit is below 1, and returns
	// how many it removed. A Seq is never reused.
	DeleteEvents(ctx context.Context, through int64, limit int) (n int, err error)

	// Entries.

	// PutEntries adds entries or replaces those of the same Kind and Key, in
	// the order in which they are given.
	PutEntries(ctx context.Context, entries ...Entry) error
	// DeleteEntries removes the entries of a kind with these keys, if they
	// exist. A key may come twice.
	DeleteEntries(ctx context.Context, kind string, keys ...string) error
}

// MaxLimit is the most rows a list returns in one call. A query whose Limit
// is below 1 or above MaxLimit is answered as if it were MaxLimit.
const MaxLimit = 1000

// Limit returns n if it is within 1 and [MaxLimit], and MaxLimit otherwise.
// Backends call it on the Limit of a query.
func Limit(n int) int {
	if n < 1 || n > MaxLimit {
		return MaxLimit
	}
	return n
}
