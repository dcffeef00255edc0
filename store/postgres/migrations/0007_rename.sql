-- A process of the first release that has the database open does not notice that
-- it was migrated. Under new names, it finds neither table: otherwise it could
-- still write tokens and sessions, and delete events.
ALTER TABLE licensing_event RENAME TO licensing_events;
ALTER TABLE licensing_entry RENAME TO licensing_entries;
