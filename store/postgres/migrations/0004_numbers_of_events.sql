-- Events get the numbers after the highest in the table, and after this one: that of
-- the newest event if it was removed. A sequence was not rolled back with its Update.
ALTER TABLE licensing_schema ADD COLUMN removed_seq bigint NOT NULL DEFAULT 0;
UPDATE licensing_schema SET removed_seq = coalesce(pg_sequence_last_value(pg_get_serial_sequence('licensing_feed', 'seq')::regclass), 0) WHERE version = 1;

-- A process of an earlier version that has the database open does not find the table
-- under its new name: it would neither give events their numbers nor keep that one.
ALTER TABLE licensing_feed ALTER seq DROP IDENTITY;
ALTER TABLE licensing_feed RENAME TO licensing_history;
