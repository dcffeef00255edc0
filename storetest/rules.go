package storetest

// rules holds the rules of package store, word for word and by number; there
// is no rule 0. A test compares them with the package comment.
var rules = [...]string{
	1: "Durable: what an Update wrote before it returned nil is there after the store is closed and " +
		"opened again, and after a crash of the process.",
	2: "Read your writes: what an Update wrote before it returned nil is seen by every read that begins " +
		"later, from any goroutine and through any handle on the same data.",
	3: "Own writes: reads in an Update see what that Update has written so far, in gets, lists and " +
		"counts alike.",
	4: "Atomic: an Update whose function returns an error leaves no trace, and returns that error; no " +
		"reader ever sees part of an Update.",
	5: "Serializable: concurrent Updates have the outcome of some order of running one after another, " +
		"also when each reads what the other writes and when the read was a list, a count or a miss.",
	6: "Snapshot: all reads in one View see one state, and each read on the Store itself sees one state.",
	7: "Bytes: strings and documents come back byte for byte as they were given, without folding, " +
		"trimming or normalizing; they are compared and ordered by their bytes, so that identifiers are " +
		"case-sensitive.",
	8: "Times: an instant comes back as the same instant, to the millisecond, in UTC; the zero time " +
		"comes back as the zero time.",
	9: "Whole: every field of a record comes back as it was given, and replacing a record replaces every " +
		"field. An empty slice and nil may come back for each other.",
	10: "Order: each list comes in the order its query documents, in both directions.",
	11: "Filters: a list holds every record that matches all set fields of its query, and no other, up to " +
		"Limit.",
	12: "Paging: a list that goes on after a position yields what lies behind that position, whether or " +
		"not the record there still exists; paging yields each record that stays in place exactly once, " +
		"whatever is added or removed meanwhile.",
	13: "Ownership: the caller owns what it passes and what it gets; changing either later changes " +
		"nothing in the store.",
	14: "Sentinels: a missing record is ErrNotFound, a taken id, key or fingerprint is ErrExists, under " +
		"errors.Is, and the call did nothing else.",
	15: "Usable: after a call in an Update returned a sentinel, the Update goes on and may commit what it " +
		"wrote besides.",
	16: "Over: once the function has returned, every method of its Tx or Reader returns ErrTxDone and " +
		"does nothing.",
	17: "Panic: a panic or runtime.Goexit in the function undoes that Update only, reaches the caller, " +
		"and leaves the store usable.",
	18: "Context: a context that has ended ends the wait for a turn and makes the next call in the " +
		"function fail with its error; but once the function has returned nil, the answer is the " +
		"commit's.",
	19: "Cascade: deleting a license deletes its activations and frees its key.",
	20: "Feed: events get rising Seqs in the order in which they become visible, within an Update in the " +
		"order of appending: whoever reads on from the last Seq it was given never misses an event, " +
		"however Updates interleave, and a Seq is never given twice.",
	21: "Removal: DeleteEvents removes the oldest events first, at most as many as it was told, none " +
		"above the Seq it was given, and counts them.",
	22: "Tallies: a tally is the sum of what was added to it, and one at zero is not listed.",
}

// foundations names, for each rule, the rules without which its cases mean
// nothing, the most basic first. A case whose rule rests on a broken one is
// skipped rather than failed, so that what a run reports is where to begin.
var foundations = [...][]int{
	1:  {2, 4, 7, 8, 9, 11, 10, 12},
	3:  {2, 4, 15, 14},
	4:  {2},
	5:  {2, 4, 15, 14, 7, 8, 9, 11, 10, 12, 22},
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
	21: {2, 7, 8, 9, 11, 10, 12},
	22: {2, 7, 8, 9, 11, 10, 12},
}
