-- Counts, deliveries and search words become entries. A license or an activation
-- is its ids, the columns that lists select by, and one document with all other
-- fields, which nothing here looks into. The documents are in the form in which package
-- licensing/internal/core/record wrote them when this was made.
--
-- Indexes that change go first, and those of large tables come last: their pages
-- are used again, and an index is sorted once.
DROP INDEX entry_expiry;
DROP INDEX entry_owner;
DROP INDEX activation_fingerprint;
DROP INDEX activation_lease;
DROP INDEX license_key;
DROP INDEX license_customer;
DROP INDEX license_product;
DROP INDEX license_state;
DROP INDEX license_expiry;
DROP INDEX license_start;

-- A process of the first release that has the file open does not notice that it
-- was migrated. Under new names, it finds neither table: otherwise it could still
-- write tokens and sessions, and delete events.
ALTER TABLE event RENAME TO events;
ALTER TABLE entry RENAME TO entries;

-- The feed of one product. It ends with seq, as every index of a table with a
-- rowid does.
CREATE INDEX event_product ON events (product_id) WHERE product_id <> '';

-- What a move to another store does with an entry: 0 takes it along, 1 leaves it
-- behind, 2 leaves it behind to be made again.
ALTER TABLE entries ADD COLUMN move INTEGER NOT NULL DEFAULT 0;
UPDATE entries SET move = 1 WHERE kind IN ('token', 'session', 'form', 'sign_in', 'setup', 'invite', 'run', 'lease');

-- -62135596800000, the zero time itself, stands for no expiry.
INSERT INTO entries (kind, key, owner, data, expires_at, created_at, move)
	SELECT 'count', substr(kind, 9) || '/' || name, '', CAST(CAST(n AS TEXT) AS BLOB), -62135596800000, NULL, 0 FROM tally WHERE kind LIKE 'license.%' AND n <> 0;
INSERT INTO entries (kind, key, owner, data, expires_at, created_at, move)
	SELECT 'token_count', name, '', CAST(CAST(n AS TEXT) AS BLOB), -62135596800000, NULL, 1 FROM tally WHERE kind = 'token' AND n <> 0;
DROP TABLE tally;

INSERT INTO entries (kind, key, owner, data, expires_at, created_at, move)
	SELECT 'delivery', endpoint_id || '/' || id, CASE WHEN due_at IS NULL THEN '' ELSE endpoint_id END,
		CAST(json_patch(json_object('event_id', event_id, 'event_seq', event_seq, 'event_type', event_type, 'state', state,
			'attempts', attempts, 'updated_at', coalesce(updated_at, -62135596800000)),
			json_object('data', json(nullif(CAST(data AS TEXT), '')))) AS BLOB),
		coalesce(due_at, created_at, -62135596800000), created_at, 0 FROM delivery;
DROP TABLE delivery;

INSERT INTO entries (kind, key, owner, data, expires_at, created_at, move)
	SELECT 'word', term || ' ' || license_id, '', NULL, -62135596800000, NULL, 0 FROM license_term;
DROP TABLE license_term;

-- Counts of the activations that were not ended.
INSERT INTO entries (kind, key, owner, data, expires_at, created_at, move)
	SELECT 'seats', license_id, '', CAST(CAST(count(*) AS TEXT) AS BLOB), -62135596800000, NULL, 2 FROM activation WHERE ended_at IS NULL GROUP BY license_id;

-- Only entries that expire are listed by expiry.
CREATE INDEX entry_expiry ON entries (kind, expires_at, key) WHERE expires_at > -62135596800000;
CREATE INDEX entry_owner ON entries (kind, owner, expires_at, key) WHERE owner <> '' AND expires_at > -62135596800000;

-- Activations no longer go with their license: they are deleted after it, in
-- steps.
ALTER TABLE activation RENAME TO first_activation;
CREATE TABLE activation (
	license_id    TEXT NOT NULL,
	id            TEXT NOT NULL, -- time-ordered, unique within the license
	fingerprint   TEXT NOT NULL,
	lease_ends_at INTEGER,       -- NULL: never
	ended_at      INTEGER,       -- when it was ended by hand
	document      BLOB,
	PRIMARY KEY (license_id, id)
) STRICT, WITHOUT ROWID;
INSERT INTO activation SELECT license_id, id, fingerprint, lease_ends_at, ended_at,
	CAST('{' || substr(
		CASE name WHEN '' THEN '' ELSE ',"name":' || json_quote(name) END ||
		CASE end_reason WHEN '' THEN '' ELSE ',"reason":' || json_quote(end_reason) END ||
		coalesce(',"metadata":' || CAST(metadata AS TEXT), '') ||
		coalesce(',"created":' || created_at, '') ||
		coalesce(',"seen":' || last_seen_at, ''), 2) || '}' AS BLOB)
	FROM first_activation ORDER BY license_id, id;
DROP TABLE first_activation;

ALTER TABLE license RENAME TO first_license;
CREATE TABLE license (
	id          TEXT NOT NULL PRIMARY KEY, -- time-ordered
	key         TEXT NOT NULL, -- the license key, in clear: its seller can read it
	customer_id TEXT NOT NULL,
	product_id  TEXT NOT NULL,
	state       TEXT NOT NULL, -- as stored; what the clock adds is derived
	starts_at   INTEGER,
	expires_at  INTEGER,
	document    BLOB
) STRICT, WITHOUT ROWID;
INSERT INTO license SELECT id, key, customer_id, product_id, state, starts_at, expires_at,
	CAST('{' || substr(
		CASE name WHEN '' THEN '' ELSE ',"name":' || json_quote(name) END ||
		CASE state_reason WHEN '' THEN '' ELSE ',"reason":' || json_quote(state_reason) END ||
		coalesce(',"since":' || state_at, '') ||
		coalesce(',"grace":' || nullif(grace_seconds, 0), '') ||
		CASE WHEN max_activations < 0 THEN '' ELSE ',"seats":' || max_activations END ||
		CASE WHEN lease_seconds < 0 THEN '' ELSE ',"lease":' || lease_seconds END ||
		coalesce(',"entitlements":' || CAST(entitlements AS TEXT), '') ||
		coalesce(',"metadata":' || CAST(metadata AS TEXT), '') ||
		coalesce(',"revision":' || nullif(revision, 0), '') ||
		coalesce(',"created":' || created_at, '') ||
		coalesce(',"updated":' || updated_at, ''), 2) || '}' AS BLOB)
	FROM first_license ORDER BY id;
DROP TABLE first_license;

CREATE UNIQUE INDEX activation_fingerprint ON activation (license_id, fingerprint);
-- Activations that were not ended, in the order of their ids and of the ends of
-- their leases, so that neither an admission nor a list walks over ended ones. The
-- zero time stands for no lease and comes first.
CREATE INDEX activation_lease ON activation (license_id, coalesce(lease_ends_at, -62135596800000), id) WHERE ended_at IS NULL;
CREATE INDEX activation_active ON activation (license_id, id) WHERE ended_at IS NULL;

CREATE UNIQUE INDEX license_key ON license (key);
CREATE INDEX license_customer ON license (customer_id, id);
CREATE INDEX license_customer_product ON license (customer_id, product_id, id);
CREATE INDEX license_product ON license (product_id, id);
CREATE INDEX license_product_expiry ON license (product_id, expires_at, id) WHERE expires_at IS NOT NULL;
CREATE INDEX license_product_start ON license (product_id, starts_at, id) WHERE starts_at IS NOT NULL;
CREATE INDEX license_state ON license (state, id);
CREATE INDEX license_expiry ON license (expires_at, id) WHERE expires_at IS NOT NULL;
CREATE INDEX license_start ON license (starts_at, id) WHERE starts_at IS NOT NULL;
