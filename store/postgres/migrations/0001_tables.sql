-- The tables of one store. Times are in milliseconds since 1970-01-01 00:00 UTC, negative
-- before it; NULL is the zero time, unless a column says otherwise. Text is compared
-- and ordered by its bytes (COLLATE "C"). Documents are bytes that nothing here looks
-- into; convert_from(document, 'UTF8') shows one.
--
-- Each index serves a query shape of store/indexes.go. It ends with the columns that
-- its lists are ordered by, so that no list is sorted. Those of licenses end with the
-- state, so that a count reads nothing else.

-- One row. Each group of Updates locks it.
CREATE TABLE licensing_schema (
    version     integer NOT NULL PRIMARY KEY, -- the number of the last migration
    usable_from integer NOT NULL,             -- a program of this version or a later one may use the tables
    removed_seq bigint NOT NULL               -- the seq of the newest event when it was last removed; at first 0
);
INSERT INTO licensing_schema (version, usable_from, removed_seq) VALUES (1, 1, 0);

CREATE TABLE licensing_licenses (
    id          text COLLATE "C" NOT NULL PRIMARY KEY, -- time-ordered
    key         text COLLATE "C" NOT NULL,             -- the license key in clear, since the vendor can read it
    customer_id text COLLATE "C" NOT NULL,
    product_id  text COLLATE "C" NOT NULL,
    state       text COLLATE "C" NOT NULL,             -- as stored; the status is derived
    starts_at   bigint,
    expires_at  bigint,
    text        text COLLATE "C" NOT NULL,             -- folded; what searches look in
    document    bytea NOT NULL
);

CREATE UNIQUE INDEX licensing_licenses_key ON licensing_licenses (key);
CREATE INDEX licensing_licenses_customer ON licensing_licenses (customer_id, id, state);
CREATE INDEX licensing_licenses_customer_product ON licensing_licenses (customer_id, product_id, id, state);
CREATE INDEX licensing_licenses_product ON licensing_licenses (product_id, id, state);
CREATE INDEX licensing_licenses_product_expiry ON licensing_licenses (product_id, expires_at, id, state) WHERE expires_at IS NOT NULL;
CREATE INDEX licensing_licenses_product_start ON licensing_licenses (product_id, starts_at, id, state) WHERE starts_at IS NOT NULL;
CREATE INDEX licensing_licenses_state ON licensing_licenses (state, id);
CREATE INDEX licensing_licenses_expiry ON licensing_licenses (expires_at, id, state) WHERE expires_at IS NOT NULL;
CREATE INDEX licensing_licenses_start ON licensing_licenses (starts_at, id, state) WHERE starts_at IS NOT NULL;

-- Activations. They are not deleted with their license, but after it, in steps.
CREATE TABLE licensing_activations (
    license_id    text COLLATE "C" NOT NULL,
    id            text COLLATE "C" NOT NULL, -- time-ordered, unique within the license
    fingerprint   text COLLATE "C" NOT NULL,
    lease_ends_at bigint,                    -- NULL: never
    ended_at      bigint,                    -- when it was released or evicted
    document      bytea NOT NULL,
    PRIMARY KEY (license_id, id)
);

-- The fingerprint comes first, so that the index also serves a prefix of fingerprints
-- of all licenses.
CREATE UNIQUE INDEX licensing_activations_fingerprint ON licensing_activations (fingerprint, license_id);
-- Activations that were not ended, by id and by the end of their lease, so that
-- neither an admission nor a list reads ended ones. The zero time stands for no lease
-- and comes first.
CREATE INDEX licensing_activations_active ON licensing_activations (license_id, id) WHERE ended_at IS NULL;
CREATE INDEX licensing_activations_lease ON licensing_activations (license_id, coalesce(lease_ends_at, -62135596800000), id) WHERE ended_at IS NULL;

-- The feed. An Update that appends holds the lock of the schema until it has
-- committed, so that events become visible in the order of seq. There is no sequence,
-- since it would not be rolled back with its Update.
CREATE TABLE licensing_events (
    seq         bigint NOT NULL PRIMARY KEY, -- after the highest one and after removed_seq
    id          text COLLATE "C" NOT NULL,
    type        text COLLATE "C" NOT NULL,
    time        bigint,
    actor       text COLLATE "C" NOT NULL,
    request_id  text COLLATE "C" NOT NULL,
    subject     text COLLATE "C" NOT NULL,   -- the id of what changed
    product_id  text COLLATE "C" NOT NULL,
    customer_id text COLLATE "C" NOT NULL,   -- empty: none
    data        bytea NOT NULL               -- a JSON document
);

CREATE INDEX licensing_events_subject ON licensing_events (subject, seq);
CREATE INDEX licensing_events_customer ON licensing_events (customer_id, seq) WHERE customer_id <> '';
CREATE INDEX licensing_events_product ON licensing_events (product_id, seq) WHERE product_id <> '';

-- Clients, tokens, sessions, operators, webhooks, deliveries, cursors and other small records.
CREATE TABLE licensing_entries (
    kind       text COLLATE "C" NOT NULL,
    key        text COLLATE "C" NOT NULL,
    owner      text COLLATE "C" NOT NULL, -- empty: none
    data       bytea NOT NULL,
    expires_at bigint NOT NULL,           -- -62135596800000, the zero time itself: never
    created_at bigint,
    move       integer NOT NULL,          -- a store.Move
    PRIMARY KEY (kind, key)
);

-- Only entries that expire are listed by expiry.
CREATE INDEX licensing_entries_expiry ON licensing_entries (kind, expires_at, key) WHERE expires_at > -62135596800000;
CREATE INDEX licensing_entries_owner ON licensing_entries (kind, owner, expires_at, key) WHERE owner <> '' AND expires_at > -62135596800000;
