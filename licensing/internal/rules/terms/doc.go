/*
Package terms computes what a set of purchases makes of a license: [GrantOf] takes
the purchases, and [Grant.At] returns the terms at an instant. Both are pure. The
result depends on the set and the instant, never on the order in which events
arrived or on when the terms are computed.

What lives here: when a purchase counts, how purchases combine, which changes time
will bring ([Grant.Changes]), what stays of fields that were set by hand ([Hand]),
who suspends a license ([Suspension]), and what a license file may promise.

What never does: the store, the clock, the wire, events, and how the events of one
purchase converge. The callers read and write those.
*/
package terms
