-- A product's licenses by their ends and by their starts.
CREATE INDEX license_product_expiry ON license (product_id, expires_at, id) WHERE expires_at IS NOT NULL;
CREATE INDEX license_product_start ON license (product_id, starts_at, id) WHERE starts_at IS NOT NULL;
