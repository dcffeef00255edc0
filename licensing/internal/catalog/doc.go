/*
Package catalog keeps what is derived from licenses: counts, and the words that
searches match. A change of a license does not write to it. It consumes the
event feed instead, with a cursor, and catches up before it answers.

From an event it takes only the ID of the license. It compares the current
record with the terms that it last stored for that license, so events that were
blanked, purged or repeated do no harm. A batch is read from a snapshot outside
the Update; the Update checks that the state of the index is still that of the
snapshot, and writes everything in a few calls. If two processes index the same
batch, the second finds a changed state, writes nothing and reads again.

Counts are entries of their own. The words of licenses are written in sorted
runs, which are merged later, so that a change writes to few places; see run. A
word that a license no longer has stays in an older run until that is merged.
Searches skip it, and [Catalog.Clean] removes it.

If the index cannot follow the feed, it is built again: retention has removed
events that it has not read, the store was imported, or the index has a new
version. A build scans all licenses in steps, next to the index that answers in
the meantime, and then takes its place. All entries are store.Derived.
*/
package catalog
