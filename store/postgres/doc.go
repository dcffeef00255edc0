/*
Package postgres stores licensing data in a PostgreSQL database. It implements
[store.Store] for services that run on more than one machine: any number of
processes may open a Store on the same tables, and each sees what the others
have committed.

The host provides the database/sql driver (pgx's stdlib or lib/pq) and owns the
[sql.DB]:

	db, err := sql.Open("pgx", os.Getenv("DATABASE_URL"))
	if err != nil {
		return err
	}
	defer db.Close()
	st, err := postgres.New(ctx, db, postgres.Options{})
	if err != nil {
		return err
	}
	h := licensing.NewHandler(st, licensing.Options{})

Set SetMaxOpenConns to what the server can spare for this process, and
SetMaxIdleConns to the same.

The package is written for PostgreSQL 12 and later, and is tested on 15 only. It needs
PL/pgSQL functions with settings, FOR UPDATE on one row, and READ COMMITTED in which
each statement of a function sees what was committed before it, as in PostgreSQL and
services that run its code, such as Amazon RDS and Cloud SQL. Others that speak its
protocol, such as Amazon Aurora, AlloyDB, CockroachDB, YugabyteDB and Citus, are not
tested, and nothing is promised about them: run the suite in the package storetest on
one before you use it.

The database encoding must be UTF8. The locale does not matter, because every
column is compared and ordered by its bytes.

# Tables

All tables are in one schema, [Options.Schema], and their names begin with licensing_,
as do those of the functions beside them, so they can share a schema with the host's own
tables. Each schema is one store: a platform uses one for each of its tenants. Any tool
may read the tables. Only this package may write to them, because it assigns event
numbers and versions.

[New] creates the tables or upgrades them from an older version as needed, as does
[Migrate], for a host that migrates with another role or before a deployment. There is
no downgrade except restoring a backup. A migration that only adds to the tables leaves
them usable by processes of the earlier version, which can start and serve while those
of the new version replace them. New refuses tables that its version cannot use, and
does not change them. The changelog says of each release whether the processes of the
earlier version must be stopped first.

# Connections

A read uses any free connection for one statement. A View holds a connection
until it ends. Updates use at most 35: 32 that read, two that write, and one that
holds the lock (see below). Size the pool to leave room for reads in addition to
Views, and remember that every process has its own pool.

Connect to the primary server, and do not turn synchronous_commit off: otherwise
a crash can lose acknowledged updates. The Store keeps no session state, so PgBouncer
works also in transaction mode, with a setting of the driver: the guide to stores has it.

With pgx, every statement costs one round trip. With lib/pq, a statement with
parameters costs two unless binary_parameters is set. An Update that creates a
license costs one round trip: a call of a function of the schema. It costs three if the
default isolation level of the database is not read committed.

# Outages

Calls return [store.ErrUnavailable] while the database is unreachable, full
([store.ErrFull]), starting, read-only or out of connections. They return immediately if the driver
detects the failure immediately. Calls succeed again once the database is back;
no restart is needed. If the connection is lost during a read, the Store runs the
read again on another connection.

If the connection is lost during the call that commits an Update, the Store asks
the database on another connection, for at most ten seconds, whether it was
committed. If it was not, the database notes that it never will be, and the
function runs again. Only if the database stays out of reach for all of that time
does the Update return [store.ErrUnknownOutcome]. Retry the request with the same
idempotency key.

# Concurrency

The function of an Update runs immediately, without a lock and without a
transaction. The Store records what it reads and keeps what it writes. When the
function has returned, one call of a server function locks the one row of
licensing_schema, reads again what the Update has read and, if nothing has changed,
writes. It numbers the events under the lock, so that they become visible in the
order of their numbers. Reads take no lock and never wait for an Update.

The version of a row tells whether it has changed. It is a random number that the
process chooses for each run of a function: nothing that a failover or a restored
backup sets back is part of it. Whoever changes a row by other means gives it a new
version.

Updates of one process that end while others are being written share a call, up
to a hundred of them. None of them reads or writes what another one before it
writes. One of more than 256 KiB has a call of its own, and others wait for one of
these at a time. The function of an Update that meets such a place, or that has read what
another process has changed since then, runs again when the other has been written.
After ten times it runs under the lock, where nothing can change.

A function also continues under the lock when it lists what it has itself written,
searches or counts licenses, or replaces or deletes events. What it has read until
then is checked, and each further statement is a round trip during which other
Updates wait. One Update of a process at a time does so.

An Update that writes nothing, or whose function returns an error or panics, is
checked too before it ends, unless all that it has read came from one statement.

The Store bounds these waits whatever the context allows: a call waits at most
ten seconds for the lock, a statement may take at most fifteen seconds, and a
function that runs under the lock may spend at most five seconds between two calls
on its Tx. After these five seconds the server releases the lock, and the function
runs again. The same limit releases the lock of a machine that has disappeared.

# Query plans

Every list query walks an index in the order of the list, starting after the
given position, and no list scans a whole table. A search first asks where the
10,000 entries of an index end that it may examine. Counts read an index and, after a
VACUUM, nothing else. See selection.go for what makes the planner choose these
plans.
*/
package postgres
