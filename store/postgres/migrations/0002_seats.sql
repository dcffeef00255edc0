-- Activations that were not ended, in the order of their ids and of the ends of
-- their leases, so that neither an admission nor a list walks over ended ones.
-- -62135596800000, the zero time itself, stands for no lease and comes first.
CREATE INDEX licensing_activation_lease ON licensing_activation (license_id, coalesce(lease_ends_at, -62135596800000), id) WHERE ended_at IS NULL;
CREATE INDEX licensing_activation_active ON licensing_activation (license_id, id) WHERE ended_at IS NULL;

-- A customer's licenses of one product.
CREATE INDEX licensing_license_customer_product ON licensing_license (customer_id, product_id, id);
