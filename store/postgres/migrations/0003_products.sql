-- A product's licenses by their ends and by their starts. No list asks for a
-- customer's licenses in the order of their ends.
CREATE INDEX licensing_license_product_expiry ON licensing_license (product_id, expires_at, id) WHERE expires_at IS NOT NULL;
CREATE INDEX licensing_license_product_start ON licensing_license (product_id, starts_at, id) WHERE starts_at IS NOT NULL;
DROP INDEX licensing_license_customer_expiry;
