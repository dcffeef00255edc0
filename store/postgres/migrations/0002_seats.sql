-- Activations that were not ended, in the order of their ids and of the ends of
-- their leases, so that neither an admission nor a list walks over ended ones.
-- -62135596800000, the zero time itself, stands for no lease and comes first.
CREATE INDEX licensing_activation_lease ON licensing_activation (license_id, coalesce(lease_ends_at, -62135596800000), id) WHERE ended_at IS NULL;
CREATE INDEX licensing_activation_active ON licensing_activation (license_id, id) WHERE ended_at IS NULL;

-- A customer's licenses of one product.
CREATE INDEX licensing_license_customer_product ON licensing_license (customer_id, product_id, id);

-- What a move to another store does with an entry: 0 takes it along, 1 leaves it
-- behind, 2 leaves it behind to be made again.
ALTER TABLE licensing_entry ADD COLUMN move integer NOT NULL DEFAULT 0;
UPDATE licensing_entry SET move = 1 WHERE kind IN ('token', 'session', 'form', 'sign_in', 'setup', 'invite', 'run', 'lease', 'subscriber_failing');
UPDATE licensing_entry SET move = 2 WHERE kind = 'seats';

-- Only entries that expire are listed by expiry.
DROP INDEX licensing_entry_expiry;
DROP INDEX licensing_entry_owner;
CREATE INDEX licensing_entry_expiry ON licensing_entry (kind, expires_at, key) WHERE expires_at > -62135596800000;
CREATE INDEX licensing_entry_owner ON licensing_entry (owner, kind, expires_at, key) WHERE owner <> '' AND expires_at > -62135596800000;

-- Counts become entries.
INSERT INTO licensing_entry (kind, key, owner, data, expires_at, created_at, move)
	SELECT 'count', substr(kind, 9) || '/' || name, '', convert_to(n::text, 'UTF8'), -62135596800000, NULL, 0 FROM licensing_tally WHERE kind LIKE 'license.%' AND n <> 0;
INSERT INTO licensing_entry (kind, key, owner, data, expires_at, created_at, move)
	SELECT 'token_count', name, '', convert_to(n::text, 'UTF8'), -62135596800000, NULL, 1 FROM licensing_tally WHERE kind = 'token' AND n <> 0;
DROP TABLE licensing_tally;

-- Deliveries become entries.
INSERT INTO licensing_entry (kind, key, owner, data, expires_at, created_at, move)
	SELECT 'delivery', endpoint_id || '/' || id, CASE WHEN due_at IS NULL THEN 'finished' ELSE endpoint_id END,
		convert_to(json_strip_nulls(json_build_object('event_id', event_id, 'event_seq', event_seq, 'event_type', event_type, 'state', state,
			'attempts', attempts, 'updated_at', coalesce(updated_at, -62135596800000),
			'data', nullif(convert_from(data, 'UTF8'), '')::json))::text, 'UTF8'),
		coalesce(due_at, created_at, -62135596800000), created_at, 0 FROM licensing_delivery;
DROP TABLE licensing_delivery;

-- Search words become entries.
INSERT INTO licensing_entry (kind, key, owner, data, expires_at, created_at, move)
	SELECT 'word', term || ' ' || license_id, '', '', -62135596800000, NULL, 0 FROM licensing_license_term;
DROP TABLE licensing_license_term;
ALTER TABLE licensing_license DROP COLUMN terms;
