/*
Package sqlite implements [store.Store] in one SQLite file. It is the default
store. It needs no server and no C compiler: the engine is [modernc.org/sqlite],
in pure Go.

	st, err := sqlite.Open("licenses.db")
	if err != nil {
		return err
	}
	defer st.Close()
	h := licensing.NewHandler(st, licensing.Options{})

# The file

[Open] creates the file, with permissions for its owner only, in a folder that
must exist. It migrates a file of an older version, each step in its own transaction.
To return to the older version, restore a backup.

The table schema has one row, with the version of the schema and the lowest version
of this package that can use it. If a newer version has only added to the schema, Open
uses the file as it is, so that processes of both versions may have it open. Open
refuses a file that its version cannot use, and a file of another program, and does
not change them. The changelog says of each release whether the schema is unchanged,
has additions, or needs every process of the earlier version to be stopped first.

While the store is open, and after a crash, the newest changes are in a second
file beside it with the suffix -wal. A third file, -shm, coordinates processes.
The three belong together: do not move or delete one of them alone. [Store.Backup]
writes a copy of a store while it is in use, [Restore] puts it in place of a lost
one, and [Store.Check] looks for damage. To copy the file itself, close the store
first, which leaves a single file.

If the file or its log is deleted, moved or replaced while the store is open,
every call returns [store.ErrUnavailable] until the file is back, and
[Options.Logger] gets an error. Updates check this before and after each commit,
reads at most once a second.

If the file is emptied, truncated or overwritten in place, as by cp, every call
returns [store.ErrUnavailable] until the process ends, and Close leaves the log for
the repair. Stop all processes, move the three files away, and [Restore] a backup.
A copy is recognized by its header, which changes when the file grows: a copy of a
file that has not grown since is not noticed.

Put the file on a local disk. The locks that protect it are not reliable on
network file systems.

# Processes

Several processes on one machine may open the same file. Each sees what the
others commit. An update waits for the updates of other processes for at most
[Options.BusyTimeout]. Processes that write without a gap take turns of about ten
milliseconds. Use one Store per process and file; two are correct but slower.

On Unix, the rest of the program must not open and close the file, for example to
hash or copy it: when a process closes a file, the system drops all locks that the
process has on it, including those of SQLite. (On Linux, OFDLocking of
modernc.org/sqlite, called before the first Open, prevents this.)

# Group commit

All updates use one connection, one at a time. Each runs its function on the
goroutine of its caller, and all but the first in a transaction run it inside a
savepoint. The last update in the queue commits for all, with one flush to the
disk, and then all return. An update that is alone commits immediately, and 64
concurrent updates share one flush. If updates share commits, the last in the queue
lets other goroutines run once before it commits.

An update that writes many rows, as imports do, or whose function takes more than 20
ms, does not hold up those before it: they commit without it, and it runs again in a
transaction of its own.

An update that fails, panics or fills the disk is undone without affecting the
others. If the engine rolls back the whole transaction, the other updates run
again, each by itself. An update that finds the disk full runs again after the log
has been written back into the file, which makes room in the log. This is why a
function may run twice.

The log is written back into the file when it has 8,000 pages of 4 KiB, by a
goroutine beside updates. Updates wait only for the last part. What is deleted is
overwritten with zeros; [Store.Checkpoint] writes the log back after an erasure.

# Licenses

The table of licenses is by rowid. In a table by id their documents, of about a
kilobyte, would be in its inner pages: it would take 2.7 times the space, and an
update 2.7 times the time. The text that searches look in is in the row before the
document, so that a search does not read what continues on other pages. A search takes
about 1 ms of CPU for 1,000 licenses. An index of (id, text) would make that 0.3 ms,
but an update that changes the text would take twice the time in the engine (26
instead of 13 µs), so there is none.

Each of the other indexes of licenses adds 3 to 7 µs to a create and to a delete; those
by start and by expiry do so only for licenses that have one. An update writes those
whose columns it changes: that of the state, with which they end for counts, writes
nearly all of them. Each serves a list that would otherwise skip rows without bound,
such as the active ones of many that were revoked: so the index by state holds
licenses of every state.
The index of events by customer serves GET /event?customer_id= and the page of a
customer, which would otherwise read the whole feed.

# Reads

Reads use connections of their own. They never wait for an update, and an update
never waits for them. Reads of one row, lists, and searches and counts have separate
connections, so a slow list delays only other lists. There is one connection for
searches and counts outside a View: one of them runs at a time, and five operators
who search delay each other and nothing else. All of these stop when their context
ends. At most 16 Views run concurrently; others wait for one to end. The log cannot be
reused while a View runs, so keep Views short.
*/
package sqlite
