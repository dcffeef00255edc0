-- Activations that were not ended, in the order of their ids and of the ends of
-- their leases, so that neither an admission nor a list walks over ended ones.
-- -62135596800000, the zero time itself, stands for no lease and comes first.
DROP INDEX activation_lease;
CREATE INDEX activation_lease ON activation (license_id, coalesce(lease_ends_at, -62135596800000), id) WHERE ended_at IS NULL;
CREATE INDEX activation_active ON activation (license_id, id) WHERE ended_at IS NULL;

-- A customer's licenses of one product.
CREATE INDEX license_customer_product ON license (customer_id, product_id, id);

-- Deliveries of one state, for finding those that are no longer kept.
CREATE INDEX delivery_state ON delivery (state, id);
