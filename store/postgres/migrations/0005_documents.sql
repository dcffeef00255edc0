-- A license is its id, its key, the columns that lists select by, and one
-- document with all other fields, which nothing here looks into. The documents
-- are those that package licensing/internal/record wrote when this was made. One
-- statement writes the documents and empties the columns that go, so that the
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

-- The same for activations.
ALTER TABLE licensing_activation
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
