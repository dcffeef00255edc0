-- Activations no longer go with their license: they are deleted after it, in
-- steps.
ALTER TABLE licensing_activation DROP CONSTRAINT licensing_activation_license_id_fkey;

-- Counts of activations that were not ended, where there is none yet.
INSERT INTO licensing_entry (kind, key, owner, data, expires_at, created_at, move)
	SELECT 'seats', license_id, '', convert_to(count(*)::text, 'UTF8'), -62135596800000, NULL, 2 FROM licensing_activation WHERE ended_at IS NULL GROUP BY license_id
	ON CONFLICT DO NOTHING;
