-- The tables of one store. Times are in milliseconds since 1970-01-01 00:00 UTC, negative
-- before it; NULL is the zero time, unless a column says otherwise. Text is compared
-- and ordered by its bytes (COLLATE "C"). Documents are bytes that nothing here looks
-- into; convert_from(document, 'UTF8') shows one.
--
-- Each index serves a query shape of store/indexes.go. It ends with the columns that
-- its lists are ordered by, so that no list is sorted. Those of licenses end with the
-- state, so that a count reads nothing else. Those of "ended" have no active license.

-- The functions at the end have the number of the version that made them in their
-- names. A later version makes its own, and keeps those of the version before it.

-- One row. Each batch of Updates locks it.
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
    document    bytea NOT NULL,
    version     bigint NOT NULL                        -- a random number of the write that put the row there
);

CREATE UNIQUE INDEX licensing_licenses_key ON licensing_licenses (key);
CREATE INDEX licensing_licenses_customer ON licensing_licenses (customer_id, id, state);
CREATE INDEX licensing_licenses_customer_product ON licensing_licenses (customer_id, product_id, id, state);
CREATE INDEX licensing_licenses_product ON licensing_licenses (product_id, id, state);
CREATE INDEX licensing_licenses_product_expiry ON licensing_licenses (product_id, expires_at, id, state) WHERE expires_at IS NOT NULL;
CREATE INDEX licensing_licenses_product_start ON licensing_licenses (product_id, starts_at, id, state) WHERE starts_at IS NOT NULL;
CREATE INDEX licensing_licenses_state ON licensing_licenses (state, id);
CREATE INDEX licensing_licenses_expiry ON licensing_licenses (expires_at, id, state) WHERE expires_at IS NOT NULL;
CREATE INDEX licensing_licenses_ended_product ON licensing_licenses (product_id, state, id) WHERE state <> 'active';
CREATE INDEX licensing_licenses_ended_expiry ON licensing_licenses (state, expires_at, id) WHERE state <> 'active' AND expires_at IS NOT NULL;
CREATE INDEX licensing_licenses_start ON licensing_licenses (starts_at, id, state) WHERE starts_at IS NOT NULL;

-- Activations. They are not deleted with their license, but after it, in steps.
CREATE TABLE licensing_activations (
    license_id    text COLLATE "C" NOT NULL,
    id            text COLLATE "C" NOT NULL, -- time-ordered, unique within the license
    fingerprint   text COLLATE "C" NOT NULL,
    lease_ends_at bigint,                    -- NULL: never
    ended_at      bigint,                    -- when it was released or evicted
    document      bytea NOT NULL,
    version       bigint NOT NULL,           -- as that of a license
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

-- The feed. Events get their numbers under the lock of the schema, which is held until
-- they are committed, so that events become visible in the order of seq. There is no sequence,
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
    version    bigint NOT NULL,           -- as that of a license
    PRIMARY KEY (kind, key)
);

-- Only entries that expire are listed by expiry.
CREATE INDEX licensing_entries_expiry ON licensing_entries (kind, expires_at, key) WHERE expires_at > -62135596800000;
CREATE INDEX licensing_entries_owner ON licensing_entries (kind, owner, expires_at, key) WHERE owner <> '' AND expires_at > -62135596800000;

-- The outcome of each batch of Updates, for a process that did not receive the answer.
-- Kept for a day.
CREATE TABLE licensing_batches (
    id      bigint NOT NULL PRIMARY KEY, -- random
    at      timestamptz NOT NULL,
    changed jsonb                        -- the answer of licensing_check_1; NULL: the batch is refused
);

CREATE INDEX licensing_batches_at ON licensing_batches (at);

-- An Update runs its function without a lock. licensing_commit_1 takes the lock, repeats
-- what the Updates of a batch have read, and writes those for which nothing has changed.
-- A batch has these members, arrays of rows that begin with the version which an Update
-- gives to the rows that it writes, and so with the name of the Update, u:
--
--   l  [u, version, id, ""]             a license; version 0: there is none
--   k  [u, version, key, ""]            the license with the key
--   a  [u, version, license, id]        an activation
--   f  [u, version, license, fingerprint]
--   n  [u, version, license, ""]        any activation of the license
--   e  [u, version, kind, key]          an entry
--   q  [u, found, place, a, statement, arguments]  a list, and what it found
--   L, A, E  [u, op, columns...]        rows to write
--   H  [u, seq or 0, columns...]  events to append
--   B  the ID of the batch
--
-- An op is "u" to put the row, "k" to put it with a unique key that another row may have
-- now, and "d" to delete it. No Update of a batch reads or writes what one before it writes.

-- licensing_check_1 returns what has changed: [u, place, a, b].
CREATE FUNCTION licensing_check_1(batch jsonb) RETURNS jsonb LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT
    SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off SET jit = off
AS $$
DECLARE
    changed jsonb;
    list jsonb;
    found text;
BEGIN
    SELECT coalesce(jsonb_agg(jsonb_build_array(r->>0, place, r->>2, r->>3)), '[]') INTO changed FROM (
        SELECT 'l', r FROM jsonb_array_elements(batch->'l') r
            WHERE coalesce((SELECT version FROM licensing_licenses t WHERE t.id = r->>2), 0) <> (r->>1)::bigint
        UNION ALL SELECT 'k', r FROM jsonb_array_elements(batch->'k') r
            WHERE coalesce((SELECT version FROM licensing_licenses t WHERE t.key = r->>2), 0) <> (r->>1)::bigint
        UNION ALL SELECT 'a', r FROM jsonb_array_elements(batch->'a') r
            WHERE coalesce((SELECT version FROM licensing_activations t WHERE t.license_id = r->>2 AND t.id = r->>3), 0) <> (r->>1)::bigint
        UNION ALL SELECT 'f', r FROM jsonb_array_elements(batch->'f') r
            WHERE coalesce((SELECT version FROM licensing_activations t WHERE t.license_id = r->>2 AND t.fingerprint = r->>3), 0) <> (r->>1)::bigint
        UNION ALL SELECT 'n', r FROM jsonb_array_elements(batch->'n') r
            WHERE coalesce((SELECT version FROM licensing_activations t WHERE t.license_id = r->>2 LIMIT 1), 0) <> (r->>1)::bigint
        UNION ALL SELECT 'e', r FROM jsonb_array_elements(batch->'e') r
            WHERE coalesce((SELECT version FROM licensing_entries t WHERE t.kind = r->>2 AND t.key = r->>3), 0) <> (r->>1)::bigint
    ) AS read (place, r);
    FOR list IN SELECT * FROM jsonb_array_elements(batch->'q') LOOP
        EXECUTE list->>4 INTO found USING list->5;
        IF found IS DISTINCT FROM list->>1 THEN
            changed := changed || jsonb_build_array(jsonb_build_array(list->>0, list->>2, list->>3, ''));
        END IF;
    END LOOP;
    RETURN changed;
END $$;

-- licensing_lock_1 takes the lock and returns removed_seq. The statements after it must
-- see what was committed before.
CREATE FUNCTION licensing_lock_1() RETURNS bigint LANGUAGE plpgsql
    SET search_path FROM CURRENT SET lock_timeout = '10s'
AS $$
DECLARE
    removed bigint;
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        RAISE EXCEPTION 'the isolation level is not read committed' USING ERRCODE = '25001';
    END IF;
    SELECT removed_seq INTO removed FROM licensing_schema FOR UPDATE;
    RETURN removed;
END $$;

-- licensing_commit_1 writes a batch and returns what licensing_check_1 has.
CREATE FUNCTION licensing_commit_1(batch jsonb) RETURNS jsonb LANGUAGE plpgsql
    SET search_path FROM CURRENT
    SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off SET jit = off
AS $$
DECLARE
    removed bigint;
    changed jsonb;
    refused bigint[];
BEGIN
    SELECT licensing_lock_1() INTO removed;
    SELECT licensing_check_1(batch) INTO changed;
    refused := ARRAY(SELECT (c->>0)::bigint FROM jsonb_array_elements(changed) c);
    IF batch ? 'B' THEN
        DELETE FROM licensing_batches WHERE id = ANY (ARRAY(
            SELECT id FROM licensing_batches WHERE at < now() - interval '1 day' ORDER BY at LIMIT 2));
        INSERT INTO licensing_batches (id, at, changed) VALUES ((batch->>'B')::bigint, now(), changed);
    END IF;

    -- A key that changes hands is first longer than any key.
    IF batch ? 'L' THEN
        DELETE FROM licensing_licenses t USING jsonb_array_elements(batch->'L') r
        WHERE t.id = r->>2 AND (r->>0)::bigint <> ALL (refused) AND r->>1 = 'd';
        UPDATE licensing_licenses t SET key = repeat(' ', 1100) || t.id FROM jsonb_array_elements(batch->'L') r
        WHERE t.id = r->>2 AND (r->>0)::bigint <> ALL (refused) AND r->>1 = 'k';
        INSERT INTO licensing_licenses (id, key, customer_id, product_id, state, starts_at, expires_at, text, document, version)
        SELECT r->>2, r->>3, r->>4, r->>5, r->>6, (r->>7)::bigint, (r->>8)::bigint, r->>9, decode(r->>10, 'base64'), (r->>0)::bigint
        FROM jsonb_array_elements(batch->'L') r WHERE (r->>0)::bigint <> ALL (refused) AND r->>1 <> 'd'
        ON CONFLICT (id) DO UPDATE SET
            key = excluded.key, customer_id = excluded.customer_id, product_id = excluded.product_id, state = excluded.state,
            starts_at = excluded.starts_at, expires_at = excluded.expires_at, text = excluded.text, document = excluded.document,
            version = excluded.version;
    END IF;
    IF batch ? 'A' THEN
        DELETE FROM licensing_activations t USING jsonb_array_elements(batch->'A') r
        WHERE t.license_id = r->>2 AND t.id = r->>3 AND (r->>0)::bigint <> ALL (refused) AND r->>1 = 'd';
        UPDATE licensing_activations t SET fingerprint = repeat(' ', 1100) || t.id FROM jsonb_array_elements(batch->'A') r
        WHERE t.license_id = r->>2 AND t.id = r->>3 AND (r->>0)::bigint <> ALL (refused) AND r->>1 = 'k';
        INSERT INTO licensing_activations (license_id, id, fingerprint, lease_ends_at, ended_at, document, version)
        SELECT r->>2, r->>3, r->>4, (r->>5)::bigint, (r->>6)::bigint, decode(r->>7, 'base64'), (r->>0)::bigint
        FROM jsonb_array_elements(batch->'A') r WHERE (r->>0)::bigint <> ALL (refused) AND r->>1 <> 'd'
        ON CONFLICT (license_id, id) DO UPDATE SET
            fingerprint = excluded.fingerprint, lease_ends_at = excluded.lease_ends_at,
            ended_at = excluded.ended_at, document = excluded.document, version = excluded.version;
    END IF;
    IF batch ? 'E' THEN
        DELETE FROM licensing_entries t USING jsonb_array_elements(batch->'E') r
        WHERE t.kind = r->>2 AND t.key = r->>3 AND (r->>0)::bigint <> ALL (refused) AND r->>1 = 'd';
        INSERT INTO licensing_entries (kind, key, owner, data, expires_at, created_at, move, version)
        SELECT r->>2, r->>3, r->>4, decode(r->>5, 'base64'), (r->>6)::bigint, (r->>7)::bigint, (r->>8)::int, (r->>0)::bigint
        FROM jsonb_array_elements(batch->'E') r WHERE (r->>0)::bigint <> ALL (refused) AND r->>1 <> 'd'
        ON CONFLICT (kind, key) DO UPDATE SET
            owner = excluded.owner, data = excluded.data, expires_at = excluded.expires_at, created_at = excluded.created_at,
            move = excluded.move, version = excluded.version;
    END IF;
    IF batch ? 'H' THEN
        WITH last AS MATERIALIZED (SELECT greatest(removed, (SELECT max(seq) FROM licensing_events)) AS seq)
        INSERT INTO licensing_events (seq, id, type, time, actor, request_id, subject, product_id, customer_id, data)
        SELECT i + greatest((SELECT seq FROM last), max((r->>1)::bigint - i) OVER (ORDER BY i)), r->>2, r->>3, (r->>4)::bigint,
            r->>5, r->>6, r->>7, r->>8, r->>9, decode(r->>10, 'base64')
        FROM (
            SELECT r, row_number() OVER (ORDER BY n) AS i FROM jsonb_array_elements(batch->'H') WITH ORDINALITY e (r, n)
            WHERE (r->>0)::bigint <> ALL (refused)
        ) AS kept;
    END IF;
    RETURN changed;
END $$;

-- licensing_resolve_1 returns the answer of a batch that was committed. Otherwise it
-- refuses the batch, so that a call which is still to come fails, and returns NULL. It
-- always writes, so that a synchronous standby has confirmed what it found.
CREATE FUNCTION licensing_resolve_1(batch bigint) RETURNS jsonb LANGUAGE plpgsql
    SET search_path FROM CURRENT SET enable_seqscan = off
AS $$
DECLARE
    answer jsonb;
BEGIN
    PERFORM licensing_lock_1();
    INSERT INTO licensing_batches (id, at) VALUES (batch, now())
    ON CONFLICT (id) DO UPDATE SET at = licensing_batches.at
    RETURNING changed INTO answer;
    RETURN answer;
END $$;
