-- A license has a text that searches look in, so the search index goes, and with
-- it the words and the counts that earlier versions kept for it.
DELETE FROM entries WHERE kind IN ('catalog', 'count', 'word') OR kind > 'index.' AND kind < 'index/';

-- The index of fingerprints also serves the fingerprints of all licenses that begin
-- alike.
DROP INDEX activation_fingerprint;
CREATE UNIQUE INDEX activation_fingerprint ON activation (fingerprint, license_id);

-- Licenses, by a number: the rows of a table by id would be in its inner pages too,
-- of which few fit into one with their documents. The text is before the document, so
-- that no search reads the overflow pages of a long document. A process of an
-- earlier version that has the file open does not find the table under its new
-- name, and so writes no license without its text.
CREATE TABLE licenses (
	n           INTEGER PRIMARY KEY,
	id          TEXT NOT NULL, -- time-ordered
	key         TEXT NOT NULL, -- the license key, in clear: its seller can read it
	customer_id TEXT NOT NULL,
	product_id  TEXT NOT NULL,
	state       TEXT NOT NULL, -- as stored; what the clock adds is derived
	starts_at   INTEGER,
	expires_at  INTEGER,
	text        TEXT NOT NULL, -- folded; what searches look in
	document    BLOB
) STRICT;
INSERT INTO licenses (id, key, customer_id, product_id, state, starts_at, expires_at, text, document)
	SELECT id, key, customer_id, product_id, state, starts_at, expires_at, '', document FROM license ORDER BY id;
DROP TABLE license;

-- An index ends with the columns that lists are ordered by and with the state, so
-- that a count reads nothing else.
CREATE UNIQUE INDEX license_id ON licenses (id);
CREATE UNIQUE INDEX license_key ON licenses (key);
CREATE INDEX license_customer ON licenses (customer_id, id, state);
CREATE INDEX license_customer_product ON licenses (customer_id, product_id, id, state);
CREATE INDEX license_product ON licenses (product_id, id, state);
CREATE INDEX license_product_expiry ON licenses (product_id, expires_at, id, state) WHERE expires_at IS NOT NULL;
CREATE INDEX license_product_start ON licenses (product_id, starts_at, id, state) WHERE starts_at IS NOT NULL;
CREATE INDEX license_state ON licenses (state, id);
CREATE INDEX license_expiry ON licenses (expires_at, id, state) WHERE expires_at IS NOT NULL;
CREATE INDEX license_start ON licenses (starts_at, id, state) WHERE starts_at IS NOT NULL;
