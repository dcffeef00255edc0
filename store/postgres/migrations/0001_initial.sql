-- The tables of one register. Every instant is in milliseconds since 1970 in
-- UTC, and NULL for the zero time unless a column says otherwise. Every text is compared and
-- ordered by its bytes (COLLATE "C"). Documents are bytes that only the layers
-- above read; convert_from(metadata, 'UTF8') shows one.

-- The migrations that were applied.
CREATE TABLE licensing_schema (
    version    integer NOT NULL PRIMARY KEY,      -- the number of the file
    applied_at timestamptz NOT NULL DEFAULT now()
);

-- Licenses. What a clock makes of a row is derived above the store.
CREATE TABLE licensing_license (
    id              text COLLATE "C" NOT NULL PRIMARY KEY, -- rises with the time of creation
    name            text COLLATE "C" NOT NULL,
    product_id      text COLLATE "C" NOT NULL,
    customer_id     text COLLATE "C" NOT NULL,
    key             text COLLATE "C" NOT NULL UNIQUE, -- a credential: it opens validation and activation
    state           text COLLATE "C" NOT NULL,        -- as stored: active, suspended or revoked
    state_reason    text COLLATE "C" NOT NULL,
    state_at        bigint,                           -- when state was last set
    starts_at       bigint,
    expires_at      bigint,
    grace_seconds   bigint NOT NULL,
    max_activations bigint NOT NULL,                  -- negative: unlimited
    lease_seconds   bigint NOT NULL,                  -- negative: a seat lasts until it is released
    entitlements    bytea NOT NULL,                   -- a JSON document
    metadata        bytea NOT NULL,                   -- a JSON document
    terms           text COLLATE "C" NOT NULL,        -- a JSON array: the rows of licensing_license_term
    revision        bigint NOT NULL,
    created_at      bigint,
    updated_at      bigint
);

CREATE INDEX licensing_license_customer ON licensing_license (customer_id, id);
CREATE INDEX licensing_license_product ON licensing_license (product_id, id);
CREATE INDEX licensing_license_state ON licensing_license (state, id);
CREATE INDEX licensing_license_expiry ON licensing_license (expires_at, id) WHERE expires_at IS NOT NULL;
CREATE INDEX licensing_license_customer_expiry ON licensing_license (customer_id, expires_at, id) WHERE expires_at IS NOT NULL;
CREATE INDEX licensing_license_start ON licensing_license (starts_at, id) WHERE starts_at IS NOT NULL;

-- The words licenses are found by. Which words a license has, its own row says,
-- so that this table needs no other index.
CREATE TABLE licensing_license_term (
    term       text COLLATE "C" NOT NULL,
    license_id text COLLATE "C" NOT NULL,
    PRIMARY KEY (term, license_id)
);

-- Activations: the seats of a license.
CREATE TABLE licensing_activation (
    license_id    text COLLATE "C" NOT NULL REFERENCES licensing_license ON DELETE CASCADE,
    id            text COLLATE "C" NOT NULL,
    fingerprint   text COLLATE "C" NOT NULL,
    name          text COLLATE "C" NOT NULL,
    lease_ends_at bigint,                    -- when the seat frees itself
    ended_at      bigint,                    -- when it was ended by hand
    end_reason    text COLLATE "C" NOT NULL,
    created_at    bigint,
    last_seen_at  bigint,
    metadata      bytea NOT NULL,            -- a JSON document
    PRIMARY KEY (license_id, id),
    UNIQUE (license_id, fingerprint)
);

-- Events: the feed. Whoever appends holds the lock of the register until it has
-- committed, so that seq rises in the order in which rows become visible.
CREATE TABLE licensing_event (
    seq         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id          text COLLATE "C" NOT NULL,
    type        text COLLATE "C" NOT NULL,
    time        bigint,
    actor       text COLLATE "C" NOT NULL,
    request_id  text COLLATE "C" NOT NULL,
    subject     text COLLATE "C" NOT NULL, -- the id of what changed
    product_id  text COLLATE "C" NOT NULL,
    customer_id text COLLATE "C" NOT NULL, -- empty: none
    data        bytea NOT NULL             -- a JSON document
);

CREATE INDEX licensing_event_subject ON licensing_event (subject, seq);
CREATE INDEX licensing_event_customer ON licensing_event (customer_id, seq) WHERE customer_id <> '';

-- Entries: clients, operators, tokens, sessions, cursors and the like.
CREATE TABLE licensing_entry (
    kind       text COLLATE "C" NOT NULL,
    key        text COLLATE "C" NOT NULL, -- the digest of a credential, or a name
    owner      text COLLATE "C" NOT NULL, -- empty: none
    data       bytea NOT NULL,
    expires_at bigint NOT NULL,           -- when it stops counting; -62135596800000, the zero time itself: never
    created_at bigint,
    PRIMARY KEY (kind, key)
);

CREATE INDEX licensing_entry_expiry ON licensing_entry (kind, expires_at, key);
CREATE INDEX licensing_entry_owner ON licensing_entry (owner, kind, expires_at, key) WHERE owner <> '';

-- Deliveries: events on their way to webhook endpoints.
CREATE TABLE licensing_delivery (
    id          text COLLATE "C" NOT NULL PRIMARY KEY, -- rises with the time of creation
    endpoint_id text COLLATE "C" NOT NULL,
    event_id    text COLLATE "C" NOT NULL,
    event_seq   bigint NOT NULL,
    event_type  text COLLATE "C" NOT NULL,
    state       text COLLATE "C" NOT NULL,
    due_at      bigint,          -- when the next attempt may start
    attempts    bigint NOT NULL, -- how many were made
    data        bytea NOT NULL,  -- a JSON document
    created_at  bigint,
    updated_at  bigint
);

CREATE INDEX licensing_delivery_due ON licensing_delivery (due_at, id) WHERE due_at IS NOT NULL;
CREATE INDEX licensing_delivery_endpoint_due ON licensing_delivery (endpoint_id, due_at, id) WHERE due_at IS NOT NULL;
CREATE INDEX licensing_delivery_endpoint ON licensing_delivery (endpoint_id, id);
CREATE INDEX licensing_delivery_state ON licensing_delivery (state, id);

-- Tallies: counts kept beside what they count; none of them is zero.
CREATE TABLE licensing_tally (
    kind text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    n    bigint NOT NULL,
    PRIMARY KEY (kind, name)
);
