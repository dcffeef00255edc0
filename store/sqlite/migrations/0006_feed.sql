-- The feed of one product. It ends with seq, as every index of a table with a
-- rowid does.
CREATE INDEX event_product ON event (product_id) WHERE product_id <> '';
