-- Licenses and their activations, the feed of events, and entries: the small records
-- of everything else.
--
-- Times are integer milliseconds since 1970-01-01 00:00 UTC, negative before it.
-- NULL is the zero time, unless a column says otherwise. Documents are BLOBs that
-- nothing here looks into; NULL is an empty one. Text is compared and ordered by
-- its bytes.
--
-- Each index serves a query shape of store/indexes.go. It ends with the columns that
-- its lists are ordered by, so that no list is sorted. Those of licenses end with the
-- state, so that a count reads nothing else. Those of "ended" have no active license.

-- One row.
CREATE TABLE schema (
	version     INTEGER NOT NULL, -- the number of the last migration
	usable_from INTEGER NOT NULL  -- a program of this version or a later one may use the file
) STRICT;
INSERT INTO schema (version, usable_from) VALUES (1, 1);

-- Licenses, by rowid: the rows of a table by id would be in its inner pages too, of
-- which few fit into one with their documents. The text is before the document, so
-- that no search reads the overflow pages of a long document.
CREATE TABLE licenses (
	id          TEXT NOT NULL, -- time-ordered
	key         TEXT NOT NULL, -- the license key in clear, since the vendor can read it
	customer_id TEXT NOT NULL,
	product_id  TEXT NOT NULL,
	state       TEXT NOT NULL, -- as stored; the status is derived
	starts_at   INTEGER,
	expires_at  INTEGER,
	text        TEXT NOT NULL, -- folded; what searches look in
	document    BLOB
) STRICT;

CREATE UNIQUE INDEX licenses_id ON licenses (id);
CREATE UNIQUE INDEX licenses_key ON licenses (key);
CREATE INDEX licenses_customer ON licenses (customer_id, id, state);
CREATE INDEX licenses_customer_product ON licenses (customer_id, product_id, id, state);
CREATE INDEX licenses_product ON licenses (product_id, id, state);
CREATE INDEX licenses_product_expiry ON licenses (product_id, expires_at, id, state) WHERE expires_at IS NOT NULL;
CREATE INDEX licenses_product_start ON licenses (product_id, starts_at, id, state) WHERE starts_at IS NOT NULL;
CREATE INDEX licenses_state ON licenses (state, id);
CREATE INDEX licenses_expiry ON licenses (expires_at, id, state) WHERE expires_at IS NOT NULL;
CREATE INDEX licenses_ended_product ON licenses (product_id, state, id) WHERE state <> 'active';
CREATE INDEX licenses_ended_expiry ON licenses (state, expires_at, id) WHERE state <> 'active' AND expires_at IS NOT NULL;
CREATE INDEX licenses_start ON licenses (starts_at, id, state) WHERE starts_at IS NOT NULL;

-- Activations. They are not deleted with their license, but after it, in steps.
CREATE TABLE activations (
	license_id    TEXT NOT NULL,
	id            TEXT NOT NULL, -- time-ordered, unique within the license
	fingerprint   TEXT NOT NULL,
	lease_ends_at INTEGER,       -- NULL: never
	ended_at      INTEGER,       -- when it was released or evicted
	document      BLOB,
	PRIMARY KEY (license_id, id)
) STRICT, WITHOUT ROWID;

-- The fingerprint comes first, so that the index also serves a prefix of fingerprints
-- of all licenses.
CREATE UNIQUE INDEX activations_fingerprint ON activations (fingerprint, license_id);
-- Activations that were not ended, by id and by the end of their lease, so that
-- neither an admission nor a list reads ended ones. The zero time stands for no lease
-- and comes first.
CREATE INDEX activations_active ON activations (license_id, id) WHERE ended_at IS NULL;
CREATE INDEX activations_lease ON activations (license_id, coalesce(lease_ends_at, -62135596800000), id) WHERE ended_at IS NULL;

-- The feed. With AUTOINCREMENT, no seq is given twice, even after the newest event
-- has been deleted.
CREATE TABLE events (
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

-- All end with seq, as every index of a table with a rowid does.
CREATE INDEX events_subject ON events (subject);
CREATE INDEX events_customer ON events (customer_id) WHERE customer_id <> '';
CREATE INDEX events_product ON events (product_id) WHERE product_id <> '';

-- Clients, tokens, sessions, operators, webhooks, deliveries, cursors and other small records.
CREATE TABLE entries (
	kind       TEXT    NOT NULL,
	key        TEXT    NOT NULL,
	owner      TEXT    NOT NULL, -- empty: none
	data       BLOB,
	expires_at INTEGER NOT NULL, -- -62135596800000, the zero time itself: never
	created_at INTEGER,
	move       INTEGER NOT NULL, -- a store.Move
	PRIMARY KEY (kind, key)
) STRICT, WITHOUT ROWID;

-- Only entries that expire are listed by expiry.
CREATE INDEX entries_expiry ON entries (kind, expires_at, key) WHERE expires_at > -62135596800000;
CREATE INDEX entries_owner ON entries (kind, owner, expires_at, key) WHERE owner <> '' AND expires_at > -62135596800000;
