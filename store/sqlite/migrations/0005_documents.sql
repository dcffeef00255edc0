-- A license is its id, its key, the columns that lists select by, and one
-- document with all other fields, which nothing here looks into. The documents
-- are those that package licensing/internal/record wrote when this was made. A
-- column can only be dropped by writing the whole table again, so all of them go
-- with their table.
CREATE TABLE document_license (
	id          TEXT NOT NULL PRIMARY KEY, -- time-ordered
	key         TEXT NOT NULL, -- the license key, in clear: its seller can read it
	customer_id TEXT NOT NULL,
	product_id  TEXT NOT NULL,
	state       TEXT NOT NULL, -- as stored; what the clock adds is derived
	starts_at   INTEGER,
	expires_at  INTEGER,
	document    BLOB
) STRICT, WITHOUT ROWID;
INSERT INTO document_license SELECT id, key, customer_id, product_id, state, starts_at, expires_at,
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
	FROM license ORDER BY id;
DROP TABLE license;
ALTER TABLE document_license RENAME TO license;

CREATE UNIQUE INDEX license_key ON license (key);
CREATE INDEX license_customer ON license (customer_id, id);
CREATE INDEX license_customer_product ON license (customer_id, product_id, id);
CREATE INDEX license_product ON license (product_id, id);
CREATE INDEX license_product_expiry ON license (product_id, expires_at, id) WHERE expires_at IS NOT NULL;
CREATE INDEX license_product_start ON license (product_id, starts_at, id) WHERE starts_at IS NOT NULL;
CREATE INDEX license_state ON license (state, id);
CREATE INDEX license_expiry ON license (expires_at, id) WHERE expires_at IS NOT NULL;
CREATE INDEX license_start ON license (starts_at, id) WHERE starts_at IS NOT NULL;

-- The same for activations.
CREATE TABLE document_activation (
	license_id    TEXT NOT NULL,
	id            TEXT NOT NULL, -- time-ordered, unique within the license
	fingerprint   TEXT NOT NULL,
	lease_ends_at INTEGER,       -- NULL: never
	ended_at      INTEGER,       -- when it was ended by hand
	document      BLOB,
	PRIMARY KEY (license_id, id)
) STRICT, WITHOUT ROWID;
INSERT INTO document_activation SELECT license_id, id, fingerprint, lease_ends_at, ended_at,
	CAST('{' || substr(
		CASE name WHEN '' THEN '' ELSE ',"name":' || json_quote(name) END ||
		CASE end_reason WHEN '' THEN '' ELSE ',"reason":' || json_quote(end_reason) END ||
		coalesce(',"metadata":' || CAST(metadata AS TEXT), '') ||
		coalesce(',"created":' || created_at, '') ||
		coalesce(',"seen":' || last_seen_at, ''), 2) || '}' AS BLOB)
	FROM activation ORDER BY license_id, id;
DROP TABLE activation;
ALTER TABLE document_activation RENAME TO activation;

CREATE UNIQUE INDEX activation_fingerprint ON activation (license_id, fingerprint);
-- Activations that were not ended, in the order of their ids and of the ends of
-- their leases. -62135596800000, the zero time itself, stands for no lease and
-- comes first.
CREATE INDEX activation_lease ON activation (license_id, coalesce(lease_ends_at, -62135596800000), id) WHERE ended_at IS NULL;
CREATE INDEX activation_active ON activation (license_id, id) WHERE ended_at IS NULL;
