-- The register: licenses and their seats, the feed of events, webhook
-- deliveries, and the small records of credentials and configuration.
--
-- Times are integer milliseconds since 1970-01-01 00:00 UTC, negative before
-- it; NULL is the zero time unless a column says otherwise. Documents are
-- BLOBs that nothing here looks into; NULL is an empty one. Text is compared
-- and ordered by its bytes.
--
-- An index ends with the columns that its lists are ordered by, so that no
-- list is ever sorted.

CREATE TABLE license (
	id              TEXT    NOT NULL PRIMARY KEY, -- time-ordered
	name            TEXT    NOT NULL,
	product_id      TEXT    NOT NULL,
	customer_id     TEXT    NOT NULL,
	key             TEXT    NOT NULL, -- the license key, in clear: its seller can read it
	state           TEXT    NOT NULL, -- as stored; what the clock adds is derived
	state_reason    TEXT    NOT NULL,
	state_at        INTEGER,          -- when state was last set
	starts_at       INTEGER,
	expires_at      INTEGER,
	grace_seconds   INTEGER NOT NULL,
	max_activations INTEGER NOT NULL, -- negative: unlimited
	lease_seconds   INTEGER NOT NULL, -- negative: until released
	entitlements    BLOB,             -- a JSON document
	metadata        BLOB,             -- a JSON document
	terms           BLOB,             -- the rows of license_term, each as its length and its bytes
	revision        INTEGER NOT NULL,
	created_at      INTEGER,
	updated_at      INTEGER
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX license_key ON license (key);
CREATE INDEX license_customer ON license (customer_id, id);
CREATE INDEX license_product ON license (product_id, id);
CREATE INDEX license_state ON license (state, id);
CREATE INDEX license_expiry ON license (expires_at, id) WHERE expires_at IS NOT NULL;
CREATE INDEX license_start ON license (starts_at, id) WHERE starts_at IS NOT NULL;

-- The words that licenses are found by. Which words a license has stands in
-- license.terms, so this table needs no index by license.
CREATE TABLE license_term (
	term       TEXT NOT NULL,
	license_id TEXT NOT NULL,
	PRIMARY KEY (term, license_id)
) STRICT, WITHOUT ROWID;

-- The seats of a license.
CREATE TABLE activation (
	license_id    TEXT NOT NULL REFERENCES license (id) ON DELETE CASCADE,
	id            TEXT NOT NULL, -- time-ordered, unique within the license
	fingerprint   TEXT NOT NULL, -- who holds the seat
	name          TEXT NOT NULL,
	lease_ends_at INTEGER,       -- when the seat frees itself; NULL: never
	ended_at      INTEGER,       -- when it was ended by hand
	end_reason    TEXT NOT NULL,
	created_at    INTEGER,
	last_seen_at  INTEGER,
	metadata      BLOB,          -- a JSON document
	PRIMARY KEY (license_id, id)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX activation_fingerprint ON activation (license_id, fingerprint);
-- For counting the seats in use without walking over those that are free again.
CREATE INDEX activation_lease ON activation (license_id, ended_at, lease_ends_at);

-- The feed. AUTOINCREMENT keeps a seq from being given again after the newest
-- event has been deleted.
CREATE TABLE event (
	seq         INTEGER PRIMARY KEY AUTOINCREMENT,
	id          TEXT NOT NULL,
	type        TEXT NOT NULL,
	time        INTEGER,
	actor       TEXT NOT NULL,
	request_id  TEXT NOT NULL,
	subject     TEXT NOT NULL, -- the id of what changed
	product_id  TEXT NOT NULL,
	customer_id TEXT NOT NULL,
	data        BLOB           -- a JSON document
) STRICT;

-- Both end with seq, as every index of a table with a rowid does.
CREATE INDEX event_subject ON event (subject);
CREATE INDEX event_customer ON event (customer_id) WHERE customer_id <> '';

-- Clients, tokens, sessions, operators, endpoints, cursors and the like.
CREATE TABLE entry (
	kind       TEXT    NOT NULL,
	key        TEXT    NOT NULL,
	owner      TEXT    NOT NULL,
	data       BLOB,
	expires_at INTEGER NOT NULL, -- -62135596800000, the zero time itself: never; so these come first
	created_at INTEGER,
	PRIMARY KEY (kind, key)
) STRICT, WITHOUT ROWID;

CREATE INDEX entry_expiry ON entry (kind, expires_at, key);
CREATE INDEX entry_owner ON entry (kind, owner, expires_at, key) WHERE owner <> '';

-- Events on their way to webhook endpoints.
CREATE TABLE delivery (
	id          TEXT    NOT NULL PRIMARY KEY, -- time-ordered
	endpoint_id TEXT    NOT NULL,
	event_id    TEXT    NOT NULL,
	event_seq   INTEGER NOT NULL,
	event_type  TEXT    NOT NULL,
	state       TEXT    NOT NULL,
	due_at      INTEGER, -- when the next attempt may start; NULL: none is due
	attempts    INTEGER NOT NULL,
	data        BLOB,    -- a JSON document: the attempts made
	created_at  INTEGER,
	updated_at  INTEGER
) STRICT, WITHOUT ROWID;

CREATE INDEX delivery_endpoint ON delivery (endpoint_id, id);
CREATE INDEX delivery_due ON delivery (due_at, id) WHERE due_at IS NOT NULL;
CREATE INDEX delivery_endpoint_due ON delivery (endpoint_id, due_at, id) WHERE due_at IS NOT NULL;

-- Counts kept beside what they count. One that comes down to zero loses its row.
CREATE TABLE tally (
	kind TEXT    NOT NULL,
	name TEXT    NOT NULL,
	n    INTEGER NOT NULL,
	PRIMARY KEY (kind, name)
) STRICT, WITHOUT ROWID;
