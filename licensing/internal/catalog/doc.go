/*
Package catalog keeps what is derived from licenses: counts, and the words that
searches match. A change of a license does not write to it. It consumes the
event feed instead, with a cursor for each index, and catches up before it answers.

From an event it takes only the ID of the license. It compares the current
record with the terms that it last stored for that license, so events that were
blanked, purged or repeated do no harm. A batch is read from a snapshot outside
the Update; the Update checks that the state of the index is still that of the
snapshot, and writes everything in a few calls. If two processes index the same
batch, the second finds a changed state, writes nothing and reads again.

The words of licenses are entries of their own, in the order in which searches
list them. Groups of keys are random, so they are written in blocks instead,
which are merged later; see run.

An index that cannot follow the feed is built again: retention has removed
events that it has not read, the store was imported, or the index has a new
version. A build scans all licenses in steps, next to the index that answers in
the meantime, and then takes its place. All entries are store.Derived.
*/
package catalog
