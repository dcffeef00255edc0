-- Counts, deliveries and search words become entries. A license or an activation
-- is its ids, the columns that lists select by, and one document with all other
-- fields, which nothing here looks into. The documents are in the form in which package
-- licensing/internal/core/record wrote them when this was made.

-- A process of the first release that has the database open does not notice that
-- it was migrated. Under new names, it finds neither table: otherwise it could
-- still write tokens and sessions, and delete events.
ALTER TABLE licensing_event RENAME TO licensing_events;
ALTER TABLE licensing_entry RENAME TO licensing_entries;

-- The feed of one product.
CREATE INDEX licensing_event_product ON licensing_events (product_id, seq) WHERE product_id <> '';

-- What a move to another store does with an entry: 0 takes it along, 1 leaves it
-- behind, 2 leaves it behind to be made again.
ALTER TABLE licensing_entries ADD COLUMN move integer NOT NULL DEFAULT 0;
UPDATE licensing_entries SET move = 1 WHERE kind IN ('token', 'session', 'form', 'sign_in', 'setup', 'invite', 'run', 'lease');

DROP INDEX licensing_entry_expiry;
DROP INDEX licensing_entry_owner;

-- -62135596800000, the zero time itself, stands for no expiry.
INSERT INTO licensing_entries (kind, key, owner, data, expires_at, created_at, move)
	SELECT 'count', substr(kind, 9) || '/' || name, '', convert_to(n::text, 'UTF8'), -62135596800000, NULL, 0 FROM licensing_tally WHERE kind LIKE 'license.%' AND n <> 0;
INSERT INTO licensing_entries (kind, key, owner, data, expires_at, created_at, move)
	SELECT 'token_count', name, '', convert_to(n::text, 'UTF8'), -62135596800000, NULL, 1 FROM licensing_tally WHERE kind = 'token' AND n <> 0;
DROP TABLE licensing_tally;

INSERT INTO licensing_entries (kind, key, owner, data, expires_at, created_at, move)
	SELECT 'delivery', endpoint_id || '/' || id, CASE WHEN due_at IS NULL THEN '' ELSE endpoint_id END,
		convert_to(json_strip_nulls(json_build_object('event_id', event_id, 'event_seq', event_seq, 'event_type', event_type, 'state', state,
			'attempts', attempts, 'updated_at', coalesce(updated_at, -62135596800000),
			'data', nullif(convert_from(data, 'UTF8'), '')::json))::text, 'UTF8'),
		coalesce(due_at, created_at, -62135596800000), created_at, 0 FROM licensing_delivery;
DROP TABLE licensing_delivery;

INSERT INTO licensing_entries (kind, key, owner, data, expires_at, created_at, move)
	SELECT 'word', term || ' ' || license_id, '', '', -62135596800000, NULL, 0 FROM licensing_license_term;
DROP TABLE licensing_license_term;
ALTER TABLE licensing_license DROP terms;

-- Counts of the activations that were not ended.
INSERT INTO licensing_entries (kind, key, owner, data, expires_at, created_at, move)
	SELECT 'seats', license_id, '', convert_to(count(*)::text, 'UTF8'), -62135596800000, NULL, 2 FROM licensing_activation WHERE ended_at IS NULL GROUP BY license_id;

-- Only entries that expire are listed by expiry.
CREATE INDEX licensing_entry_expiry ON licensing_entries (kind, expires_at, key) WHERE expires_at > -62135596800000;
CREATE INDEX licensing_entry_owner ON licensing_entries (owner, kind, expires_at, key) WHERE owner <> '' AND expires_at > -62135596800000;

-- No list asks for a customer's licenses in the order of their ends.
DROP INDEX licensing_license_customer_expiry;

-- One statement writes the documents and empties the columns that go, so that the
-- table is written once and keeps its privileges.
ALTER TABLE licensing_license
	ALTER name DROP NOT NULL, ALTER state_reason DROP NOT NULL, ALTER grace_seconds DROP NOT NULL, ALTER max_activations DROP NOT NULL,
	ALTER lease_seconds DROP NOT NULL, ALTER entitlements DROP NOT NULL, ALTER revision DROP NOT NULL,
	ALTER name TYPE text USING NULL, ALTER state_reason TYPE text USING NULL, ALTER state_at TYPE bigint USING NULL,
	ALTER grace_seconds TYPE bigint USING NULL, ALTER max_activations TYPE bigint USING NULL, ALTER lease_seconds TYPE bigint USING NULL,
	ALTER entitlements TYPE bytea USING NULL, ALTER revision TYPE bigint USING NULL,
	ALTER created_at TYPE bigint USING NULL, ALTER updated_at TYPE bigint USING NULL,
	ALTER metadata TYPE bytea USING convert_to('{' || substr(
		coalesce(',"name":' || to_json(nullif(name, ''))::text, '') ||
		coalesce(',"reason":' || to_json(nullif(state_reason, ''))::text, '') ||
		coalesce(',"since":' || state_at, '') ||
		coalesce(',"grace":' || nullif(grace_seconds, 0), '') ||
		CASE WHEN max_activations < 0 THEN '' ELSE ',"seats":' || max_activations END ||
		CASE WHEN lease_seconds < 0 THEN '' ELSE ',"lease":' || lease_seconds END ||
		coalesce(',"entitlements":' || nullif(convert_from(entitlements, 'UTF8'), ''), '') ||
		coalesce(',"metadata":' || nullif(convert_from(metadata, 'UTF8'), ''), '') ||
		coalesce(',"revision":' || nullif(revision, 0), '') ||
		coalesce(',"created":' || created_at, '') ||
		coalesce(',"updated":' || updated_at, ''), 2) || '}', 'UTF8');
ALTER TABLE licensing_license RENAME metadata TO document;
ALTER TABLE licensing_license
	DROP name, DROP state_reason, DROP state_at, DROP grace_seconds, DROP max_activations, DROP lease_seconds,
	DROP entitlements, DROP revision, DROP created_at, DROP updated_at;

-- A customer's licenses of one product, and a product's licenses by their ends and
-- by their starts.
CREATE INDEX licensing_license_customer_product ON licensing_license (customer_id, product_id, id);
CREATE INDEX licensing_license_product_expiry ON licensing_license (product_id, expires_at, id) WHERE expires_at IS NOT NULL;
CREATE INDEX licensing_license_product_start ON licensing_license (product_id, starts_at, id) WHERE starts_at IS NOT NULL;

-- The same for activations, which no longer go with their license: they are
-- deleted after it, in steps.
ALTER TABLE licensing_activation
	DROP CONSTRAINT licensing_activation_license_id_fkey,
	ALTER name DROP NOT NULL, ALTER end_reason DROP NOT NULL,
	ALTER name TYPE text USING NULL, ALTER end_reason TYPE text USING NULL,
	ALTER created_at TYPE bigint USING NULL, ALTER last_seen_at TYPE bigint USING NULL,
	ALTER metadata TYPE bytea USING convert_to('{' || substr(
		coalesce(',"name":' || to_json(nullif(name, ''))::text, '') ||
		coalesce(',"reason":' || to_json(nullif(end_reason, ''))::text, '') ||
		coalesce(',"metadata":' || nullif(convert_from(metadata, 'UTF8'), ''), '') ||
		coalesce(',"created":' || created_at, '') ||
		coalesce(',"seen":' || last_seen_at, ''), 2) || '}', 'UTF8');
ALTER TABLE licensing_activation RENAME metadata TO document;
ALTER TABLE licensing_activation DROP name, DROP end_reason, DROP created_at, DROP last_seen_at;

-- Activations that were not ended, in the order of their ids and of the ends of
-- their leases, so that neither an admission nor a list walks over ended ones. The
-- zero time stands for no lease and comes first.
CREATE INDEX licensing_activation_lease ON licensing_activation (license_id, coalesce(lease_ends_at, -62135596800000), id) WHERE ended_at IS NULL;
CREATE INDEX licensing_activation_active ON licensing_activation (license_id, id) WHERE ended_at IS NULL;
