-- Activations no longer go with their license: they are deleted after it, in
-- steps. A foreign key can only be dropped with its table.
CREATE TABLE seat (
	license_id    TEXT NOT NULL,
	id            TEXT NOT NULL, -- time-ordered, unique within the license
	fingerprint   TEXT NOT NULL,
	name          TEXT NOT NULL,
	lease_ends_at INTEGER,       -- NULL: never
	ended_at      INTEGER,       -- when it was ended by hand
	end_reason    TEXT NOT NULL,
	created_at    INTEGER,
	last_seen_at  INTEGER,
	metadata      BLOB,          -- a JSON document
	PRIMARY KEY (license_id, id)
) STRICT, WITHOUT ROWID;
INSERT INTO seat SELECT license_id, id, fingerprint, name, lease_ends_at, ended_at, end_reason, created_at, last_seen_at, metadata FROM activation;
DROP TABLE activation;
ALTER TABLE seat RENAME TO activation;

CREATE UNIQUE INDEX activation_fingerprint ON activation (license_id, fingerprint);
-- Activations that were not ended, in the order of their ids and of the ends of
-- their leases. -62135596800000, the zero time itself, stands for no lease and
-- comes first.
CREATE INDEX activation_lease ON activation (license_id, coalesce(lease_ends_at, -62135596800000), id) WHERE ended_at IS NULL;
CREATE INDEX activation_active ON activation (license_id, id) WHERE ended_at IS NULL;

-- Counts of activations that were not ended, where there is none yet.
INSERT OR IGNORE INTO entry (kind, key, owner, data, expires_at, created_at, move)
	SELECT 'seats', license_id, '', CAST(CAST(count(*) AS TEXT) AS BLOB), -62135596800000, NULL, 2 FROM activation WHERE ended_at IS NULL GROUP BY license_id;
