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

The package is written for PostgreSQL 12 and later, and is tested on 15 only.
Databases that speak its protocol, such as CockroachDB, YugabyteDB and Citus, are
not tested, and nothing is promised about them: run the suite in the package
storetest on one before you use it.

The database encoding must be UTF8. The locale does not matter, because every
column is compared and ordered by its bytes.

# Tables

All tables are in one schema, [Options.Schema], and their names begin with
licensing_, so they can share a schema with the host's own tables. Each schema
is one store. A platform that keeps a separate store for each of its tenants
uses one schema for each of them. Any tool may read the tables. Only this
package may write to them, because it assigns the event numbers.

[New] creates the tables or upgrades them from an older version as needed. A
host that migrates with another role, or before a deployment, calls [Migrate]
separately; New then only checks the version. There is no downgrade except restoring
a backup.

The table licensing_schema has one row, with the version of the tables and the lowest
version of the package that can use them. If a migration only adds to the tables,
processes of the earlier version can start and serve while those of the new version
replace them. New refuses tables that its version cannot use, and does not change
them. The changelog says of each release whether the schema is unchanged, has
additions, or needs every process of the earlier version to be stopped first.

# Connections

A read uses any free connection for one statement. A View holds a connection
until it ends. Updates use at most two connections, one to run and one to
commit, regardless of the number of callers. Size the pool to leave room for
reads in addition to Views, and remember that every process has its own pool.

Connect to the primary server, and do not turn synchronous_commit off: otherwise
a crash can lose acknowledged updates. PgBouncer works, also in transaction mode,
because the Store keeps no session state. In transaction mode, drivers need a
setting: default_query_exec_mode=exec for pgx, binary_parameters=yes for lib/pq.
Transaction and session mode are tested with PgBouncer 1.18. Statement mode has no
transactions, which the Store needs. Other poolers are not tested.

With pgx, every statement costs one round trip. With lib/pq, a statement with
parameters costs two unless binary_parameters is set. A single Update that
creates a license costs four round trips: begin, write the license, write the
event, and commit.

# Outages

Calls return [store.ErrUnavailable] while the database is unreachable, full,
starting, read-only or out of connections. They return immediately if the driver
detects the failure immediately. Calls succeed again once the database is back;
no restart is needed. If the connection is lost during a read, or during an
Update before COMMIT is sent, the Store runs the read or the Update again on
another connection.

If the connection is lost during COMMIT, the Store cannot know whether the
Update was committed. Only in this case does it return
[store.ErrUnknownOutcome]. Retry the request with the same idempotency key.

# Concurrency

Updates of one store run one after another. Each group of Updates begins by
locking one row of the schema (SELECT … FOR UPDATE) and holds the lock until the
group has committed. Every statement therefore sees all earlier Updates, and
events become visible in the order of their numbers, which follow that of the
newest event. Reads take no lock and never wait for an Update.

Updates that wait in one process share a transaction. Each runs on its own
goroutine and behind its own savepoint, so one that fails or panics does not
affect the others. They share the round trips of BEGIN and COMMIT and the write
to disk. A group ends when no Update waits in the process, or after 50 Updates
or 20 milliseconds, so that other processes get the lock. If the function of an
Update takes longer than 100 milliseconds, the group commits without it, and it
runs again in the next group. The server grants the lock in the order of the
requests.

Because Updates are serialized, the network limits their rate: all Updates of a
store share the round trips that fit into a second. For more throughput, move
the processes closer to the server, or split the data into several schemas.

The Store bounds these waits whatever the context allows: an Update waits at
most ten seconds for the lock, a function may spend at most five seconds between
two calls on its Tx, and a statement may take at most fifteen seconds. When a
function exceeds its five seconds, the server releases the lock, and the
function runs again. The same limit releases the lock of a machine that has
disappeared.

# Query plans

Every list query walks an index in the order of the list, starting after the
given position, and no list scans a whole table. A search first asks where the
20,000 entries of an index end that it may examine. Counts read an index and, after a
VACUUM, nothing else. See selection.go for what makes the planner choose these
plans.
*/
package postgres
