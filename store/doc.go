/*
Package store is the contract between licensekit and where it keeps its data.

A backend implements [Store]. Three come with the module: store/memory is the
reference, written to be read; store/sqlite is the default, one file and no
server; store/postgres is for more than one machine. Package storetest checks
any backend against the rules below, and names the rule in each failure:

	func TestStore(t *testing.T) {
		storetest.Run(t, func(t *testing.T) store.Store { return mystore.New() })
	}

The store keeps records and makes them atomic. It has no opinions: it never
reads a clock, never derives a state, never decides what is allowed. All of
that is in package licensing/license and in package auth.

# The rules

Every backend keeps these rules, and everything above the store relies on
them. The numbers are stable.

 1. Durable: what an Update wrote before it returned nil is there after the
    store is closed and opened again, and after a crash of the process.
 2. Read your writes: what an Update wrote before it returned nil is seen by
    every read that begins later, from any goroutine and through any handle on
    the same data.
 3. Own writes: reads in an Update see what that Update has written so far, in
    gets, lists and counts alike.
 4. Atomic: an Update whose function returns an error leaves no trace, and
    returns that error; no reader ever sees part of an Update.
 5. Serializable: concurrent Updates have the outcome of some order of running
    one after another, also when each reads what the other writes and when the
    read was a list, a count or a miss.
 6. Snapshot: all reads in one View see one state, and each read on the Store
    itself sees one state.
 7. Bytes: strings and documents come back byte for byte as they were given,
    without folding, trimming or normalizing; they are compared and ordered by
    their bytes, so that identifiers are case-sensitive.
 8. Times: an instant comes back as the same instant, to the millisecond, in
    UTC; the zero time comes back as the zero time.
 9. Whole: every field of a record comes back as it was given, and replacing a
    record replaces every field. An empty slice and nil may come back for each
    other.
 10. Order: each list comes in the order its query documents, in both
    directions.
 11. Filters: a list holds every record that matches all set fields of its
    query, and no other, up to Limit.
 12. Paging: a list that goes on after a position yields what lies behind that
    position, whether or not the record there still exists; paging yields
    each record that stays in place exactly once, whatever is added or removed
    meanwhile.
 13. Ownership: the caller owns what it passes and what it gets; changing
    either later changes nothing in the store.
 14. Sentinels: a missing record is ErrNotFound, a taken id, key or
    fingerprint is ErrExists, under errors.Is, and the call did nothing else.
 15. Usable: after a call in an Update returned a sentinel, the Update goes on
    and may commit what it wrote besides.
 16. Over: once the function has returned, every method of its Tx or Reader
    returns ErrTxDone and does nothing.
 17. Panic: a panic or runtime.Goexit in the function undoes that Update only,
    reaches the caller, and leaves the store usable.
 18. Context: a context that has ended ends the wait for a turn and makes the
    next call in the function fail with its error; but once the function has
    returned nil, the answer is the commit's.
 19. Cascade: deleting a license deletes its activations and frees its key.
 20. Feed: events get rising Seqs in the order in which they become visible,
    within an Update in the order of appending: whoever reads on from the last
    Seq it was given never misses an event, however Updates interleave, and a
    Seq is never given twice.
 21. Removal: DeleteEvents removes the oldest events first, at most as many as
    it was told, none above the Seq it was given, and counts them.
 22. Tallies: a tally is the sum of what was added to it, and one at zero is
    not listed.

# Writing a backend

Begin with store/memory: it is short, and every method is there. In a backend
over a database:

  - An Update may be run again when the engine asks for it; so may the
    function passed to it. Bound the retries, and return ErrConflict after the
    last.
  - A failed statement must not doom the transaction (rule 15): find out about
    conflicts with ON CONFLICT DO NOTHING or a savepoint.
  - A sequence is not a feed (rule 20): numbers drawn early may commit late.
  - Return ErrUnavailable when the database is busy, full or gone; the HTTP
    side answers 503 with Retry-After to it, and 500 to any error that it does
    not know.
  - All methods take a context; check it at the start of each (rule 18).
  - Put a prefix with the operation and the id before each error:
    fmt.Errorf("mystore: license %s: %w", id, store.ErrNotFound).

# Changes of the contract

Until version 1 of the module the contract may grow; every such change is
listed in CHANGELOG.md under "For backend authors", comes with its cases in
storetest, and lands only in a minor version.
*/
package store
