/*
Package postgres keeps the register in a PostgreSQL database: the backend of
[store.Store] for more than one machine. Any number of processes may have a
Store on the same tables; each sees what the others have done, and none has to
know of them.

The host brings the database/sql driver, pgx's stdlib or lib/pq, and keeps the
[sql.DB]:

	db, err := sql.Open("pgx", os.Getenv("DATABASE_URL"))
	if err != nil {
		return err
	}
	defer db.Close()
	db.SetMaxOpenConns(20) // what the server can spare for this process
	db.SetMaxIdleConns(20)
	st, err := postgres.New(ctx, db, postgres.Options{})
	if err != nil {
		return err
	}
	h := licensing.NewHandler(st, licensing.Options{})

It is written for PostgreSQL 12 and later, and tested on 15. The database must
be encoded in UTF8; its locale does not matter, since every column is compared
and ordered by its bytes.

# Tables

All tables are in one schema, [Options.Schema], and their names begin with
licensing_, so that they can live beside those of the host. A schema holds one
register: a platform that keeps one for each of its owners gives each a schema
of its own. The tables are there to be read, with any tool; to write to them is
the affair of this package, which for one thing numbers the events.

[New] creates the tables, and brings those of an older version up to date, when
it has to. A host that has this done by another role, or before a deployment,
calls [Migrate] apart; New then only looks at the version. Tables of a newer
version are refused. There is no way back but a backup.

# Connections

Reads use any connection that is free, for one statement, and a View holds one
until it ends. Updates use two at most, one to run and one to commit, however
many callers there are. Leave the pool room for reads beside Views, and count
that every process has a pool.

The connections must lead to the primary server, with synchronous_commit not
off, or else what was acknowledged can be lost in a crash. They may lead through
a pooler such as PgBouncer, also one that gives out connections by the
transaction: the Store keeps no state in a session. Each driver has a setting
for such poolers (for pgx, default_query_exec_mode=exec; for lib/pq,
binary_parameters=yes).

With pgx, every statement costs one round trip; with lib/pq, two for each that
has parameters, unless binary_parameters is set. A lone Update that creates a
license costs six: one to begin, one each for the license, reading its counts,
writing them and the event, and one to commit.

[store.Import] also needs USAGE and UPDATE on the sequence of the event table.

# Loss of the database

While the database is out of reach, full, starting, read-only or out of
connections, calls return [store.ErrUnavailable], at once where the driver
knows at once. When it is back, they succeed again; nothing needs to be
restarted. A connection that is lost in a read or, before COMMIT was sent, in an
Update, is made good by running the read or the Update again on another.

If the connection is lost while COMMIT is under way, the Store cannot know
whether the Update was committed. Then, and only then, it returns
[store.ErrUnknownOutcome]. To repeat such a request, send the same idempotency
key.

# Turns

Updates of one register run one after another: each group of them begins by
taking an advisory lock of the schema (pg_advisory_xact_lock) and keeps it until
it is committed. So every statement sees all that came before it, and events
become visible in the order of their numbers, which a sequence alone would not
give: numbers drawn early can be committed late. Reads take no lock, and wait
for nobody.

The Updates that wait in one process share a transaction, each on its own
goroutine and behind a savepoint, so that one that fails or panics leaves the
others alone. They share the round trips of BEGIN and COMMIT and the write to
disk. A group ends when nobody in the process waits, and
after 50 Updates or 20 milliseconds in any case, so that other processes have
their turn. The server hands the lock out in the order in which it was asked for.

The alternative, SERIALIZABLE transactions side by side that run again when they
conflict, was built and measured. Every change of a license appends to one feed
and adds to the same few counts, so that they do conflict. On one busy machine
with two cores, 1, 16 and 64 callers created 603, 710 and 295 licenses a second
that way, the slowest hundredth in 1.6 s at the end; one after another under the
lock, 625, 369 and 464; and in groups 997, 2,283 and 2,453, the slowest hundredth
in 53 ms. It is the better way only for Updates that append no event and touch
different rows, such as the renewal of leases (3,500 a second against 2,600 with
16 callers), and the more so over a slow network: under the lock, all Updates of a
register together have as many round trips as fit into a second. If that is too
few, put the processes nearer to the server, or divide the register.

Some waits are bounded by the Store, whatever the context allows: a function may
take five seconds between two calls on its Tx before the server gives the turn
to somebody else and the function runs again (this also frees the turn of a
machine that has vanished), an Update waits ten seconds for its turn, and no
statement takes longer than fifteen.

# Plans

Every list walks an index in its order, on from the position that it is given:
there is no OFFSET, and no list reads a table from end to end. What keeps the
planner to that is in selection.go, with its reasons.
*/
package postgres
