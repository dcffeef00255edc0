-- A license has a text that searches look in, so the search index goes, and with
-- it the words and the counts that earlier versions kept for it.
DELETE FROM licensing_entries WHERE kind IN ('catalog', 'count', 'word') OR kind > 'index.' AND kind < 'index/';

-- The index of fingerprints also serves the fingerprints of all licenses that begin
-- alike.
ALTER TABLE licensing_activation DROP CONSTRAINT licensing_activation_license_id_fingerprint_key;
CREATE UNIQUE INDEX licensing_activation_fingerprint ON licensing_activation (fingerprint, license_id);

-- Updates are ordered by a lock of the first row of licensing_schema, and were ordered
-- by an advisory lock. A process of an earlier version that has the database open does
-- not find the tables under their new names: it would write without the lock, and
-- licenses without their text.
ALTER TABLE licensing_events RENAME TO licensing_feed;
ALTER TABLE licensing_entries RENAME TO licensing_records;
ALTER TABLE licensing_license RENAME TO licensing_licenses;
ALTER TABLE licensing_licenses ADD COLUMN text text COLLATE "C" NOT NULL DEFAULT ''; -- folded; what searches look in
ALTER TABLE licensing_licenses ALTER text DROP DEFAULT;

-- An index ends with the columns that lists are ordered by and with the state, so
-- that a count reads nothing else.
DROP INDEX licensing_license_customer;
DROP INDEX licensing_license_customer_product;
DROP INDEX licensing_license_product;
DROP INDEX licensing_license_product_expiry;
DROP INDEX licensing_license_product_start;
DROP INDEX licensing_license_expiry;
DROP INDEX licensing_license_start;
CREATE INDEX licensing_license_customer ON licensing_licenses (customer_id, id, state);
CREATE INDEX licensing_license_customer_product ON licensing_licenses (customer_id, product_id, id, state);
CREATE INDEX licensing_license_product ON licensing_licenses (product_id, id, state);
CREATE INDEX licensing_license_product_expiry ON licensing_licenses (product_id, expires_at, id, state) WHERE expires_at IS NOT NULL;
CREATE INDEX licensing_license_product_start ON licensing_licenses (product_id, starts_at, id, state) WHERE starts_at IS NOT NULL;
CREATE INDEX licensing_license_expiry ON licensing_licenses (expires_at, id, state) WHERE expires_at IS NOT NULL;
CREATE INDEX licensing_license_start ON licensing_licenses (starts_at, id, state) WHERE starts_at IS NOT NULL;
