/*
Package sqlite keeps the register in one SQLite file: the default backend of
[store.Store]. It needs no server and no C compiler, since the engine is
[modernc.org/sqlite], in pure Go.

	st, err := sqlite.Open("licenses.db")
	if err != nil {
		return err
	}
	defer st.Close()
	h := licensing.NewHandler(st, licensing.Options{})

# The file

[Open] makes the file if it is not there, readable by its owner alone, in a
folder that must exist. The file is the store's own: one that holds anything
else, or that a newer version of this package has written, is refused and left
as it is. A file of an older version is brought up to date on opening, each step
in a transaction of its own; there is no way back but a backup.

While the store is open, and after a crash, the newest changes stand in a second
file beside it with the suffix -wal, and a third, -shm, coordinates processes.
The three belong together: move or delete none of them alone. [Store.Backup]
writes a copy of a store while it is in use, [Restore] puts it in place of a lost
one, and [Store.Check] looks for damage. To copy the file itself, close the store
first, which leaves a single file.

If the file or its log is deleted, moved or replaced while the store is open,
every call returns [store.ErrUnavailable] until it is back in place, and
[Options.Logger] gets an error. Updates check this before and after each commit,
reads at most once a second.

Put the file on a local disk. On network file systems the locks that protect it
are not reliable.

# Processes

Several processes on one machine may open the same file: each sees what the
others commit, and their updates wait for one another, at most
[Options.BusyTimeout]. Within one process, one Store is best; two are correct.
On Unix, nothing else in the process should open and close the file (to hash
or to copy it, say): when a process closes a file, the system drops every lock
that it has on it, those of SQLite included. (On Linux, OFDLocking of
modernc.org/sqlite, called before the first Open, keeps them.)

# How it works

All updates go through one connection, in turn. Each calls its function on its
caller's goroutine, inside a savepoint; the last in line commits for all, with
one flush of the disk, and then all return. So an update that is alone is
committed at once, and sixty-four at a time share the cost of one flush, and
nobody ever waits for company. What one update does wrong, be it an error, a
panic, or filling the disk, is undone without harm to the others: if the engine
gives up the whole transaction, the innocent ones run again, each by itself.
An update that finds the disk full runs again after the log was written back
into the file, which makes room in the log. That is why a function may run twice.

Reads use connections of their own, which never wait for an update and never
make one wait. Reads of one row and lists have separate connections, so a slow
list delays other lists only. A list stops when its context ends. At most 16
Views run at a time, and the others wait for one of those to end. While a View
runs, the log grows by what is committed, so let it end soon.
*/
package sqlite
