-- Activations that were not ended, in the order of their ids and of the ends of
-- their leases, so that neither an admission nor a list walks over ended ones.
-- -62135596800000, the zero time itself, stands for no lease and comes first.
DROP INDEX activation_lease;
CREATE INDEX activation_lease ON activation (license_id, coalesce(lease_ends_at, -62135596800000), id) WHERE ended_at IS NULL;
CREATE INDEX activation_active ON activation (license_id, id) WHERE ended_at IS NULL;

-- A customer's licenses of one product.
CREATE INDEX license_customer_product ON license (customer_id, product_id, id);


-- What a move to another store does with an entry: 0 takes it along, 1 leaves it
-- behind, 2 leaves it behind to be made again.
ALTER TABLE entry ADD COLUMN move INTEGER NOT NULL DEFAULT 0;
UPDATE entry SET move = 1 WHERE kind IN ('token', 'session', 'form', 'sign_in', 'setup', 'invite', 'run', 'lease', 'subscriber_failing');
UPDATE entry SET move = 2 WHERE kind = 'seats';

-- Only entries that expire are listed by expiry.
DROP INDEX entry_expiry;
DROP INDEX entry_owner;
CREATE INDEX entry_expiry ON entry (kind, expires_at, key) WHERE expires_at > -62135596800000;
CREATE INDEX entry_owner ON entry (kind, owner, expires_at, key) WHERE owner <> '' AND expires_at > -62135596800000;

-- Counts become entries.
INSERT INTO entry (kind, key, owner, data, expires_at, created_at, move)
	SELECT 'count', substr(kind, 9) || '/' || name, '', CAST(CAST(n AS TEXT) AS BLOB), -62135596800000, NULL, 0 FROM tally WHERE kind LIKE 'license.%' AND n <> 0;
INSERT INTO entry (kind, key, owner, data, expires_at, created_at, move)
	SELECT 'token_count', name, '', CAST(CAST(n AS TEXT) AS BLOB), -62135596800000, NULL, 1 FROM tally WHERE kind = 'token' AND n <> 0;
DROP TABLE tally;

-- Deliveries become entries.
INSERT INTO entry (kind, key, owner, data, expires_at, created_at, move)
	SELECT 'delivery', endpoint_id || '/' || id, CASE WHEN due_at IS NULL THEN 'finished' ELSE endpoint_id END,
		CAST(json_patch(json_object('event_id', event_id, 'event_seq', event_seq, 'event_type', event_type, 'state', state,
			'attempts', attempts, 'updated_at', coalesce(updated_at, -62135596800000)),
			json_object('data', json(nullif(CAST(data AS TEXT), '')))) AS BLOB),
		coalesce(due_at, created_at, -62135596800000), created_at, 0 FROM delivery;
DROP TABLE delivery;

-- Search words become entries.
INSERT INTO entry (kind, key, owner, data, expires_at, created_at, move)
	SELECT 'word', term || ' ' || license_id, '', NULL, -62135596800000, NULL, 0 FROM license_term;
DROP TABLE license_term;
ALTER TABLE license DROP COLUMN terms;
