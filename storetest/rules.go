package storetest

// rules holds the rules of package store by number, word for word. There is no
// rule 0. A test compares them with the package comment.
var rules = [...]string{
	1: "Durable: what an Update wrote before it returned nil is there after the store is closed and " +
		"opened again, after the process is killed, and after the machine loses power.",
	2: "Read your writes: what an Update wrote before it returned nil is seen by every read that begins " +
		"later, from any goroutine and through any handle on the same data.",
	3: "Own writes: reads in an Update see what that Update has written so far, in gets and lists " +
		"alike.",
	4: "Atomic: an Update whose function returns an error changes nothing and returns that error; no " +
		"reader ever sees part of an Update.",
	5: "Serializable: concurrent Updates have the outcome of some order of running one after another, " +
		"also when each reads what the other writes and when the read was a list or a miss.",
	6: "Snapshot: all reads in one View see one state, and each read on the Store itself sees one state.",
	7: "Bytes: strings and documents come back byte for byte as they were given, without folding, " +
		"trimming or normalizing; they are compared and ordered by their bytes, so identifiers are " +
		"case-sensitive.",
	8: "Times: a time in the years 1 to 9999 comes back as the same instant in UTC, in whole milliseconds. " +
		"The rest is cut off from a stored time and from a position before they are compared or ordered, " +
		"before 1970 too: the time becomes the earlier millisecond. The bounds of a range count as they are. " +
		"The zero time comes back as the zero time, and so does every time in the first millisecond of year 1.",
	9: "Whole: every field of a record comes back as it was given, and replacing a record replaces every " +
		"field. An empty slice and nil may come back for each other.",
	10: "Order: each list comes in the order its query documents, in both directions.",
	11: "Filters: a list holds every record that matches all set fields of its query, and no other, up to " +
		"Limit, however many records do not match.",
	12: "Paging: a list with a position yields what comes after that position, whether or not the record " +
		"there still exists; paging yields each record that stays in place exactly once, whatever is " +
		"added or removed between two pages.",
	13: "Ownership: the caller owns what it passes and what it gets, and may write to both; that changes " +
		"nothing in the store.",
	14: "Sentinels: a missing record is ErrNotFound, but for DeleteEntries, to which it is none; a taken " +
		"id, key or fingerprint is ErrExists, under errors.Is, and the call did nothing else.",
	15: "Usable: after a call in an Update returned a sentinel, the Update continues and may commit its " +
		"other writes.",
	16: "Over: once the function has returned, every method of its Tx or Reader returns ErrTxDone and does " +
		"nothing, also if its context has ended.",
	17: "Panic: a panic or runtime.Goexit in the function undoes that Update only, reaches the caller, " +
		"and leaves the store usable.",
	18: "Context: a call whose context has ended does nothing and fails with the context's error: an Update " +
		"or a View does not call its function. Their context ends the wait for its start; after that, each " +
		"call in the function obeys the context that this call was given and no other. Once the function has " +
		"returned nil, a View returns nil, and an Update the commit's answer.",
	19: "Leftovers: deleting a license frees its key and leaves its activations, which DeleteActivations " +
		"removes. Until the last one is removed, creating a license with that ID returns ErrExists, and " +
		"putting an activation of it ErrNotFound.",
	20: "Feed: events get rising Seqs in the order in which they become visible, within an Update in the " +
		"order of appending: a reader that continues after the last Seq it was given never misses an " +
		"event, however Updates interleave, and a Seq is never given twice.",
	21: "Removal: DeleteEvents removes the oldest events first: all up to the Seq it was given or, if " +
		"these are more, as many as its limit, never fewer. It returns how many it removed.",
	22: "Queries: a query with a field that its method or its order does not know, or whose order is " +
		"unknown, is refused with an error.",
	23: "Undone writes: no answer rests on a write that is undone. If an Update fails because of what " +
		"another one has written and not committed, and that is undone, its function runs again.",
	24: "Text: every string is valid UTF-8 without NUL. Kinds have at most 32 bytes, ids, types and states at " +
		"most 255, keys of entries at most 2,000, the text of a license at most 4,096, all other strings, " +
		"CustomerID and ProductID among them, at most 1,024, and documents at most 1 MiB; every backend stores " +
		"these, up to 5,000 records and 16 MiB in one Update. A read by any other string finds nothing. A write of one may fail with an error that " +
		"is no sentinel, and that of a longer kind does; it did nothing then, and the Update continues as in " +
		"rule 15.",
	25: "Empty values: ids, keys, fingerprints and kinds are never empty, and a get by an empty one returns " +
		"ErrNotFound. An empty After, the zero Position and a Seq of 0 start a list at its beginning, in both " +
		"directions. In an order by id, only the id of a Position counts; in an order by a time, both count, " +
		"also if one is empty.",
	26: "Calls: the function of an Update or a View calls no method of the Store, only those of its Tx or " +
		"Reader. It may call them from several goroutines, one at a time.",
	27: "Waiting: a call may wait for the Updates, Views and reads that began before it, and for nothing " +
		"else: when these have returned, it continues. An Update may also run again, a bounded number of " +
		"times, for Updates that began after it, and wait for Updates of other processes on the same data.",
	28: "Failures: after a call in an Update failed with an error other than a sentinel, the error of its " +
		"context or that of rule 22 or 24, the Update returns an error and changes nothing, also when its " +
		"function returns nil. An Update that fails for want of room returns ErrFull, or ErrUnavailable.",
	29: "Unknown outcome: an Update that cannot know whether it was committed returns ErrUnknownOutcome. " +
		"After any other error of an Update, nothing that it wrote is there, then or later.",
	30: "Search: FindLicenses finds, in the order of its query, a license that exists, matches and keeps " +
		"its place from the first to the last of the calls that continue each other in exactly one of them, " +
		"whatever is added, changed or removed between the calls, and none that does not match. A call " +
		"examines at most as many licenses as its query allows, and the last returns no next.",
	31: "Counts: CountLicenses and LicenseNames count every license that matches, and no other, however many " +
		"there are. A license at an edge counts after it.",
	32: "Closed: every call on a store whose Close has returned does nothing and fails with ErrUnavailable. " +
		"The function of a View or an Update is not called. A query that rule 22 refuses may fail with either " +
		"error.",
}

// foundations lists, for each rule, the rules on which its cases depend, the most
// basic first. A case whose rule depends on a broken rule is skipped, so that a
// run reports only what to fix first.
var foundations = [...][]int{
	1:  {2, 4, 7, 8, 9, 11, 10, 12},
	3:  {2, 4, 15, 14, 19},
	4:  {2},
	5:  {2, 4, 15, 14, 19, 7, 8, 9, 11, 10, 12, 30, 31},
	6:  {2, 4},
	7:  {2},
	8:  {2},
	9:  {2, 7, 8},
	10: {2, 7, 8, 9, 11},
	11: {2, 7, 8, 9},
	12: {2, 7, 8, 9, 11, 10},
	13: {2, 7, 8, 9},
	14: {2, 4, 15},
	15: {2},
	16: {2, 4},
	17: {2, 4},
	18: {2, 4},
	19: {2, 4, 15, 14},
	20: {2, 4, 7, 8, 9, 11, 10, 12},
	21: {2, 4, 7, 8, 9, 11, 10, 12, 20},
	22: {2, 7, 8, 9, 11, 10, 12},
	23: {2, 4, 15, 14, 19, 7, 8, 9, 11, 10, 12, 30, 31, 22, 5},
	24: {2, 4, 15, 14, 7, 8, 9, 11, 10, 12},
	25: {2, 4, 15, 14, 7, 8, 9, 11, 10, 12},
	26: {2, 4, 15, 14, 19, 3},
	27: {2, 4},
	28: {2, 4},
	29: {2, 4},
	30: {2, 7, 8, 9, 11, 10, 12},
	31: {2, 7, 8, 9, 11, 10, 12},
	32: {2, 4},
}
