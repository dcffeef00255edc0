-- The feed of one product.
CREATE INDEX licensing_event_product ON licensing_event (product_id, seq) WHERE product_id <> '';
